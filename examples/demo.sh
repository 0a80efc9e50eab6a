#!/usr/bin/env bash
# make demo: trains a GPT, exported from JAX, on four CPU ranks with every parameter sharded over
# them, and compares losses and final state with those that JAX computed on one device.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

run=${SPMD_RUN:-build/release/spmd-run}
model=tests/data/models/gpt_fsdp
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

echo "What the program needs on a mesh of four ranks (no ranks are started):"
printf '\n$ %s\n' "$run check $model/model.hlo.pb"
"$run" check "$model/model.hlo.pb" | sed '/^arguments/,$d'

echo
echo "Ten steps of it on four MPI processes:"
show mpirun -n 4 "$run" "$model/model.hlo.pb" \
  --state "$model/state.safetensors" --batches "$model/batches.safetensors" \
  --out "$out/final.safetensors" --check "$model/expected.safetensors"

echo
echo "Another real program, on handwritten digits, sharded by the rules in configs/digits_fsdp.yaml:"
show mpirun -n 4 "$run" tests/data/models/digits_mlp/model.mlir --config configs/digits_fsdp.yaml
