#!/usr/bin/env bash
# Installs the packages that building needs, where they are missing (Debian 12, Ubuntu 24.04).
set -euo pipefail

required=(g++ cmake ninja-build ccache pkg-config git python3 libfmt-dev libspdlog-dev
  nlohmann-json3-dev libsqlite3-dev libcli11-dev libxxhash-dev)
tests=(libgtest-dev clang libclang-rt-dev clang-format clang-tidy)
# Peers and the vendor's library: used where the distribution has them.
optional=(libdnnl-dev libopenblas-dev)

wanted=("${required[@]}")
[ "${1:-}" = "--tests" ] && wanted+=("${tests[@]}")

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q "ok installed"; }

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this system has no dpkg; install by its own means: ${wanted[*]}" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}" "${optional[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: root or sudo is needed to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
needed=()
for package in "${missing[@]}"; do
  case " ${optional[*]} " in
    *" $package "*)
      "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$package" >/dev/null ||
        echo "setup: $package is not to be had; going on without it" >&2
      ;;
    *) needed+=("$package") ;;
  esac
done
if [ ${#needed[@]} -gt 0 ]; then
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
fi
