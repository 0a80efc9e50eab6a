#!/usr/bin/env bash
# Ranks with a GPU each, and NCCL between them, on the stand-ins of tests/cuda/fake: every kind of
# collective, as late and as early as the Plan's events allow, against JAX's values.
set -uo pipefail
fake=$SPMD_BINARY_DIR/fake_cuda
if [[ ! -e $fake/libcuda.so.1 ]]; then
  echo "[SKIP] built without CUDA"
  exit 77
fi
export SPMD_CUDA_LIBRARY_PATH=$fake SPMD_FAKE_NCCL_LOG
SPMD_FAKE_NCCL_LOG=$(mktemp)
trap 'rm -f "$SPMD_FAKE_NCCL_LOG"' EXIT
failed=0

# run PROGRAM RANKS MESH CALL...: NCCL gets these calls.
run() {
  local folder=tests/data/models/$1 output call tolerances=()
  true > "$SPMD_FAKE_NCCL_LOG"
  [[ -f $folder/tolerances.json ]] && tolerances=(--tolerances "$folder/tolerances.json")
  if ! output=$(SPMD_FAKE_GPUS=$2 mpirun -n "$2" "$SPMD_RUN" "$folder/model.hlo.pb" --mesh "$3" \
    --state "$folder/state.safetensors" --batches "$folder/batches.safetensors" --device cuda \
    --codegen off --check "$folder/expected.safetensors" "${tolerances[@]}" 2>&1); then
    printf 'FAILED: %s on %s, %s:\n%s\n' "$1" "$3" "$SPMD_FAKE_ORDER" "$(tail -n 20 <<< "$output")"
    failed=1
    return
  fi
  for call in "${@:4}"; do
    if ! grep -qx "$call" "$SPMD_FAKE_NCCL_LOG"; then
      echo "FAILED: $1 on $3 does without NCCL's $call"
      failed=1
    fi
  done
}

for order in late early; do
  export SPMD_FAKE_ORDER=$order
  run digits_mlp 2 data=2 all_reduce
  run moe 2 expert=2 all_gather all_reduce reduce_scatter
  run llama_scan 2 fsdp=2,model=1 all_gather reduce_scatter messages  # all_to_all, within a loop
  run ring_shard_map 4 ring=4 messages                                # permute
done
exit $failed
