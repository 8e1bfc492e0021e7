#!/usr/bin/env bash
# Builds and collects what a GPU machine needs to run without building: programs, and the shared
# libraries that they load beyond the C and C++ run time. Without oneDNN, which is large.
#   scripts/gpu_bundle.sh FOLDER [TARGET...]   default: all that scripts/gpu.sh runs
# On the machine, in FOLDER, where benches look for models/: LD_LIBRARY_PATH=lib bin/test_gpu
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ $# -ge 1 ] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
folder=$1
shift
[ $# -gt 0 ] || set -- test_gpu gemwright_command bench_gpu_host_cost bench_dense bench_regret

cmake --preset bundle >/dev/null
cmake --build --preset bundle --target "$@"
mkdir -p "$folder/bin" "$folder/lib"
cp -r models "$folder/"
for target in "$@"; do
  program=${target%_command}
  file=$(find build/bundle -type f -name "$program" -perm -u+x | head -1)
  strip -o "$folder/bin/$program" "$file"
  ldd "$file" | awk '$3 ~ /^\// {print $3}' |
    grep -Ev '/(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so' |
    while read -r library; do cp -Lu "$library" "$folder/lib/"; done
done
du -sh "$folder" | cut -f1
