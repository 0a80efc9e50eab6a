#!/usr/bin/env bash
# Without a GPU: --device cuda says what is missing, auto takes the CPU.
set -uo pipefail
if . scripts/gpu.sh > /dev/null; then
  echo "[SKIP] this machine has a GPU"
  exit 77
fi
program=tests/data/models/digits_mlp
arguments=("$program/model.mlir" --mesh data=1 --state "$program/state.safetensors"
  --batches "$program/batches.safetensors" --steps 1)
failed=0
expect() {
  if ! grep -q "$2" <<< "$3"; then
    printf 'FAILED: %s: no "%s" in:\n%s\n' "$1" "$2" "$3"
    failed=1
  fi
}
output=$("$SPMD_RUN" "${arguments[@]}" --device cuda 2>&1)
if (( $? == 0 )); then echo "FAILED: --device cuda runs without a GPU"; failed=1; fi
expect "--device cuda" '^spmd-run: --device cuda: ' "$output"
expect "--device cuda" '^  .*--device cpu' "$output"
output=$("$SPMD_RUN" "${arguments[@]}" --device auto 2>&1) || { echo "FAILED: $output"; failed=1; }
expect "--device auto" loss "$output"
exit $failed
