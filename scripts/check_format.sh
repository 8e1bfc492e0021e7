#!/usr/bin/env bash
# Every C++ and CUDA file as clang-format 14 (Debian 12's) leaves it; other versions differ in
# details, so they are not asked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
formatter=$(command -v clang-format-14 || command -v clang-format || true)
version=$(${formatter:-echo none} --version | grep -oE "version [0-9.]+" || echo "none")
case "$version" in
  "version 14."*)
    git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs "$formatter" --dry-run --Werror
    ;;
  *) echo "skipped: format: clang-format is $version here, not 14, whose rules differ" ;;
esac
long=$(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.py' '*.sh' |
  LC_ALL=C.UTF-8 xargs grep -HnE '^.{101,}' | cut -d: -f1,2 || true)
if [ -n "$long" ]; then
  echo "lines over 100 columns: $long" >&2
  exit 1
fi
