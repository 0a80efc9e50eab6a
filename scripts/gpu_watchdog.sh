#!/usr/bin/env bash
# Two ranks on GPUs (the same one where there is only one), of which one is killed in the middle of a
# step: the other has to end, and say what it waited for. Both ways: mpirun tells it to end, and nobody
# does. Half a minute.
#   scripts/gpu_watchdog.sh FOLDER_OF_A_BUILD
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/env.sh
. scripts/gpu.sh || exit 77
(( $(nvidia-smi -L | wc -l) < 2 )) && export SPMD_NCCL_SHARED_GPU=1
dir=$(realpath "${1:-build/gpu}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# die PATTERN MPIRUN_OPTION...
die() {
  local pattern=$1 mpirun victim i begin
  shift
  timeout 100 mpirun -n 2 "$@" "$dir/spmd-run" tests/data/models/gpt_fsdp/model.mlir --mesh fsdp=2 \
    --device cuda --init random --steps 100000000 --watchdog 5 --report "$folder/report" \
    --cache-dir "$folder/cache" > "$folder/out" 2>&1 < /dev/null &
  mpirun=$!
  for ((i = 0; i < 600; i++)); do
    [[ -s $folder/report/metrics.jsonl ]] && break
    sleep 0.1
  done
  victim=$(pgrep -f "^$dir/spmd-run .* --report $folder/report" | tail -n 1)
  begin=$SECONDS
  kill -9 "$victim"
  wait "$mpirun"
  echo "== mpirun $*: ended after $((SECONDS - begin)) s with code $?"
  grep -E '^spmd-run: ' "$folder/out"
  if ! grep -qE "$pattern" "$folder/out"; then
    failed=$((failed + 1))
    echo "FAILED: no \"$pattern\" in:"
    tail -n 25 "$folder/out" | cut -c 1-300
  fi
  rm -rf "$folder/report"
}

collective='in (all_reduce|all_gather|reduce_scatter|all_to_all) of .* for rank [01]'
die "rank [01]: was told to end \(SIGTERM\) while it (waited $collective|computed)"
die "rank [01]: waited 5 s $collective" --enable-recovery
echo "gpu watchdog: $failed failed"
(( failed == 0 ))
