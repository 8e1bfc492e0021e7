#!/usr/bin/env bash
# Every C++ and CUDA file as clang-format 14 (Debian 12's) leaves it; other versions differ in
# details, so they are not asked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! clang-format --version | grep -q "version 14"; then
  echo "format: skipped, $(clang-format --version) is not version 14"
  exit 0
fi
git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs clang-format --dry-run --Werror
long=$(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.py' '*.sh' |
  LC_ALL=C.UTF-8 xargs grep -HnE '^.{101,}' | cut -d: -f1,2 || true)
if [ -n "$long" ]; then
  echo "lines over 100 columns: $long" >&2
  exit 1
fi
