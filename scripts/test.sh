#!/usr/bin/env bash
# Sets up, builds, and runs every test that this machine can run. Fails when anything fails or
# nothing ran; lists what was skipped and why.
#   scripts/test.sh               release tests, format, results tables: what CI runs
#   scripts/test.sh --quick       the release tests only
#   scripts/test.sh --lint        clang-tidy over src/, after a release build
#   scripts/test.sh --sanitizers  ASan and UBSan with the fuzzers, then TSan; nothing else
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

step "packages"
scripts/setup.sh --tests

if [ "${1:-}" = "--lint" ]; then
  cmake --preset release >/dev/null
  exec scripts/lint.sh
fi

if [ "${1:-}" = "--sanitizers" ]; then
  step "address and undefined behaviour sanitizers, fuzzing"
  cmake --preset asan >/dev/null
  cmake --build --preset asan
  ctest --preset asan -j "$(nproc)" -LE "long|slow|gpu" --no-tests=error

  step "thread sanitizer"
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan
  ctest --preset tsan -j "$(nproc)" -LE "long|slow|gpu" --no-tests=error
  exit 0
fi

step "release build"
cmake --preset release >/dev/null
cmake --build --preset release

step "release tests"
ctest --preset release -j "$(nproc)" -LE "long" --no-tests=error \
  --output-junit "$PWD/build/release/tests.xml"
python3 scripts/list_skips.py build/release/tests.xml
[ "${1:-}" = "--quick" ] && exit 0

step "format"
scripts/check_format.sh

step "results tables"
python3 scripts/results_table.py --check

step "done"
