#!/usr/bin/env bash
# Everything that needs the GPU, in one go: build, GPU tests, sanitizers, benches. Results are left
# in bench/results/<device>, logs in build/gpu.
#   scripts/gpu.sh                 builds first where cmake is there
#   scripts/gpu.sh BUNDLE          runs a folder that scripts/gpu_bundle.sh made elsewhere
# One part that fails or hangs does not keep the others from running; the exit code tells.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -ge 1 ]; then
  bin=$(cd "$1" && pwd)/bin
  export LD_LIBRARY_PATH=$(cd "$1" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  cmake --preset release >/dev/null && cmake --build --preset release || exit 1
  bin=build/release/gpu_bin
  mkdir -p "$bin"
  find build/release -type f -perm -u+x \( -name 'test_gpu' -o -name 'bench_*' \) \
    -exec ln -sf "$PWD/{}" "$bin/" \;
fi

logs=build/gpu
mkdir -p "$logs"
failed=0
# part NAME LIMIT_S COMMAND...
part() {
  local name=$1 limit=$2
  shift 2
  echo "== $name"
  timeout "$limit" "$@" >"$logs/$name.txt" 2>&1
  local code=$?
  tail -n 3 "$logs/$name.txt"
  [ "$code" -eq 0 ] || { echo "$name: exit code $code (see $logs/$name.txt)"; failed=1; }
}

part tests 1200 "$bin/test_gpu"
part sanitizers 2400 scripts/gpu_sanitize.sh "$bin/test_gpu"
for bench in "$bin"/bench_gpu_* "$bin"/bench_dense; do
  [ -x "$bench" ] || continue
  part "$(basename "$bench")" 1800 "$bench" --device cuda --out bench/results
done
exit "$failed"
