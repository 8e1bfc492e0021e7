#!/usr/bin/env bash
# Everything that needs the GPU, in one go: build, GPU tests, sanitizers, benches, the tuning of
# three models. Results are left in bench/results/<device>, logs in build/gpu.
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
  find build/release -type f -perm -u+x \( -name test_gpu -o -name gemwright -o -name 'bench_*' \) \
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
  timeout "$limit" "$@" >"$logs/$name.txt" 2>"$logs/$name.err"
  local code=$?
  tail -n 3 "$logs/$name.txt"
  [ "$code" -eq 0 ] || { echo "$name: exit code $code (see $logs/$name.txt)"; failed=1; }
}

part tests 1200 "$bin/test_gpu"
part sanitizers 2400 scripts/gpu_sanitize.sh "$bin/test_gpu"
part bench_gpu_host_cost 300 "$bin/bench_gpu_host_cost" --out bench/results
part bench_dense 1800 "$bin/bench_dense" --around --seconds 1500 --out bench/results
part bench_regret 1800 "$bin/bench_regret" --device cuda --types bf16 --seconds 1500 \
  --models llama-3.1-8b,qwen3-32b,flux.1-dev --m 1,4,16,64,128,512,2048,8192 \
  --keep "$logs/regret.jsonl" --out bench/results

# To the folder that the benches have just written to.
results=$(dirname "$(ls -t bench/results/*/gpu_host_cost.json | head -1)")
for model in llama-3.1-8b qwen3-32b flux.1-dev; do
  part "tune-$model" 600 "$bin/gemwright" tune --device cuda --retune --json \
    --config "models/$model/config.json" --m 1,16,64,512,4608
  cp "$logs/tune-$model.txt" "$results/tune-$model.json"
done
exit "$failed"
