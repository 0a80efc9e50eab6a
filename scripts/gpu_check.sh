#!/usr/bin/env bash
# Builds spmd and checks it on this machine's GPU:  scripts/gpu_check.sh [build folder]
#
# Prints what the machine is, the tests with the label cuda, and the programs of tests/data/models on
# one GPU beside JAX's numbers. Ends with `gpu check: N failed`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/env.sh
. scripts/gpu.sh || exit 77
dir=${1:-build/gpu}
failed=0

nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
nvcc --version | grep release
mkdir -p "$(dirname "$dir")"
begin=$SECONDS
cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPMD_UNITY=OFF -DSPMD_CUDA=ON \
  > "$dir.log" 2>&1 || { tail -n 20 "$dir.log"; exit 1; }
tail -n 4 "$dir.log" | head -n 1
if ! cmake --build "$dir" --target spmd-run spmd-opt test_codegen test_runtime >> "$dir.log" 2>&1; then
  grep -E -A 8 'error|FAILED|undefined' "$dir.log" | head -n 80
  exit 1
fi
echo "built in $((SECONDS - begin)) s"

export SPMD_RUN=$PWD/$dir/spmd-run SPMD_OPT=$PWD/$dir/spmd-opt SPMD_BINARY_DIR=$PWD/$dir
export SPMD_SOURCE_DIR=$PWD
for test in tests/cuda/*.sh; do
  begin=$SECONDS
  timeout 300 bash "$test" > "$dir/output" 2>&1
  code=$?
  case $code in
    0) verdict=passed ;;
    77) verdict=skipped ;;
    *) verdict="FAILED ($code)" failed=$((failed + 1)) ;;
  esac
  echo "== $test: $verdict in $((SECONDS - begin)) s"
  grep -vE '^\[ +(OK|RUN) ' "$dir/output" | tail -n 80 | cut -c 1-300
done
echo "gpu check: $failed failed"
(( failed == 0 ))
