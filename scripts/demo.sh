#!/usr/bin/env bash
# From a fresh clone to a table: for every GEMM of Llama-3.1-8B, which kernel is fastest on this
# machine, how fast, how near the hardware's limit, and against which alternatives.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
cmake --preset release -DGEMWRIGHT_TESTS=OFF -DGEMWRIGHT_BENCH=OFF -B build/demo >/dev/null
cmake --build build/demo

gemwright=build/demo/src/cli/gemwright
device=cpu
# Ten problems. On two cores the largest, the lm head, takes 14 s and all of them 80; on a machine
# that others use as well the limit keeps them under three minutes.
limit=(--m 1,16 --time-limit 17)
if "$gemwright" devices --json | grep -q '"kind": *"cuda"'; then
  device=cuda
  limit=(--m 1,16,128,2048)
fi
exec "$gemwright" tune --device "$device" --config models/llama-3.1-8b/config.json --unfused \
  "${limit[@]}" "$@"
