#!/usr/bin/env bash
# Sets up, builds, and runs every test that this machine can run. Fails when anything fails or
# nothing ran; lists what was skipped and why.
#   scripts/test.sh               release tests, --lint, then ASan, UBSan and fuzzing: what CI runs
#   scripts/test.sh --quick       the release tests only
#   scripts/test.sh --lint        format, clang-tidy over src/, results tables
#   scripts/test.sh --sanitizers  ASan and UBSan with the fuzzers, then TSan
#   scripts/test.sh --long        every CUDA configuration compiled: half an hour on two cores
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n== %s (%ds)\n' "$1" "$SECONDS"; }

build() {
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1"
}

# run PRESET ARGUMENT...
run() {
  local preset=$1
  shift
  ctest --preset "$preset" -j "$(nproc)" --no-tests=error "$@" \
    --output-junit "$PWD/build/$preset/tests.xml"
  python3 scripts/list_skips.py "build/$preset/tests.xml"
}

release() {
  step "release build"
  build release
  step "release tests"
  run release -LE "long|exhaustive"
}

long() {
  step "release build"
  build release
  step "long tests"
  run release -L long
}

lint() {
  step "format"
  scripts/check_format.sh
  step "clang-tidy"
  cmake --preset release >/dev/null
  scripts/lint.py
  step "results tables"
  python3 scripts/results_table.py --check
}

address() {
  step "address and undefined behaviour sanitizers, fuzzing"
  build asan
  run asan -LE "long|gpu"
}

sanitizers() {
  address
  step "thread sanitizer"
  build tsan
  run tsan -LE "long|gpu"
}

case "${1:-}" in
  "") modes=(release lint address) ;;
  --quick) modes=(release) ;;
  --lint | --sanitizers | --long) modes=("${1#--}") ;;
  *)
    sed -n '4,8s/^# *//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac

step "packages"
scripts/setup.sh --tests
for mode in "${modes[@]}"; do "$mode"; done
step "done"
