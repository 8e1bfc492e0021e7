#!/usr/bin/env bash
# Sets up, builds, and runs every test that this machine can run. Fails when anything fails or
# nothing ran; lists what was skipped and why.
#   scripts/test.sh            everything: format, lint, release tests, sanitizers, fuzzing
#   scripts/test.sh --quick    the release tests only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

step "packages"
scripts/setup.sh --tests

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

step "lint"
scripts/lint.sh

# The threaded and the parsing halves; numbers are checked by the release build.
step "address and undefined behaviour sanitizers, fuzzing"
cmake --preset asan >/dev/null
cmake --build --preset asan
ctest --preset asan -j "$(nproc)" -LE "long|slow|gpu" --no-tests=error

step "thread sanitizer"
cmake --preset tsan >/dev/null
cmake --build --preset tsan
ctest --preset tsan -j "$(nproc)" -LE "long|slow|gpu" --no-tests=error

step "done"
