#!/usr/bin/env bash
# Runs a reduced list of the GPU tests under each tool of compute-sanitizer; fails when one of them
# finds anything.
#   scripts/gpu_sanitize.sh [test_gpu]   default: build/release/tests/test_gpu
set -uo pipefail

program=${1:-build/release/tests/test_gpu}
sanitizer=$(command -v compute-sanitizer ||
  echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
if [ ! -x "$sanitizer" ]; then
  echo "compute-sanitizer is not there: it comes with the CUDA toolkit" >&2
  exit 2
fi

failed=0
# The vendor's own kernels are not ours to mend. API errors are tried and handled (a cluster that a
# device does not have); those that are not fail the test.
filter='*GpuConformance.Reduced/*-*cuda_vendor*'
for tool in memcheck racecheck synccheck initcheck; do
  echo "== $tool"
  timeout "${GEMWRIGHT_SANITIZE_LIMIT:-600}" "$sanitizer" --tool "$tool" --error-exitcode 9 \
    --report-api-errors no \
    "$program" --gtest_filter="$filter" --gtest_brief=1
  code=$?
  [ "$code" -eq 0 ] || { echo "$tool: exit code $code"; failed=1; }
done
exit "$failed"
