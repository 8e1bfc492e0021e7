#!/usr/bin/env bash
# clang-tidy over the library and the command. What passed is remembered by content in build/lint,
# so that a second run looks only at what changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! clang-tidy --version | grep -q "version 14"; then
  echo "lint: skipped, clang-tidy is not version 14"
  exit 0
fi
mkdir -p build/lint
settings=$( (clang-tidy --version; cat .clang-tidy; git ls-files 'src/*.hpp' 'include/*.hpp' |
  xargs cat) | sha256sum | cut -c1-16)

lint() {
  local file=$1 settings=$2
  local stamp
  stamp=build/lint/$(sha256sum "$file" | cut -c1-32)-$settings
  [ -f "$stamp" ] && return 0
  clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option "$file" \
    2>/dev/null && touch "$stamp"
}
export -f lint
git ls-files 'src/*.cpp' | xargs -P "$(nproc)" -I{} bash -c 'lint {} '"$settings"
