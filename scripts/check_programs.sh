#!/usr/bin/env bash
# Runs the programs of tests/data/models and compares them with what JAX computed.
#
#   scripts/check_programs.sh [--quick | --device KIND] [program...]
#
# All: each program on all its meshes, from both of its files, on threads and under mpirun; about
# ten minutes on two cores. --quick: each on its own mesh, and a few of the others.
# --device KIND: each on one rank (ring_shard_map, which is written for four, on four that share the
# device), on the device KIND of spmd-run.
# Prints one line a run: the largest relative deviation of a metric, the largest deviation of a
# state tensor as a part of what is allowed, bytes sent per rank and step, and as a part of what
# XLA sends, full rematerialisations, and FLOPs over an equal share. Fails when a run is out of
# tolerance or, on a program's own mesh, sends more than xla_bytes.json allows, rematerialises a
# value in full or works more than 1.05 of its share.
#
# SPMD_RUN is the executable; build/release/spmd-run without it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. scripts/env.sh
run=${SPMD_RUN:-$PWD/build/release/spmd-run}
models=tests/data/models
report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT

# program | its own mesh | other meshes
programs='
digits_mlp     | data=4         | data=1 data=3 data=8
digits_cnn     | data=4         | data=1 data=3 data=8
gpt_fsdp       | fsdp=4         | fsdp=1 fsdp=2 fsdp=3 fsdp=8
gpt_dp_tp      | data=2,model=2 | data=1,model=1 data=4,model=2 data=2,model=4 data=1,model=3
llama_scan     | fsdp=2,model=2 | fsdp=1,model=1 fsdp=2,model=1 fsdp=1,model=4 fsdp=4,model=2
moe            | expert=4       | expert=1 expert=2 expert=3
gru_scan       | data=2         | data=1 data=3
ring_shard_map | ring=4         |
dropout_mlp    | data=4         | data=1 data=3 data=8
'
# What --quick adds to each program's own mesh on threads.
quick_extra='
gpt_fsdp fsdp=3 hlo.pb threads
gpt_dp_tp data=1,model=3 mlir threads
llama_scan fsdp=1,model=4 mlir threads
moe expert=3 hlo.pb threads
digits_cnn data=3 mlir threads
gpt_fsdp fsdp=4 hlo.pb mpirun
ring_shard_map ring=4 mlir mpirun
dropout_mlp data=3 hlo.pb mpirun
'

# A number out of report.json.
field() { sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" "$report/report.json" 2>/dev/null | head -n 1; }
# A number out of xla_bytes.json.
xla() { sed -n "s/^ *\"$1\":.*\"$2\": *\([0-9.]*\).*/\1/p" "$models/xla_bytes.json"; }
holds() { awk "BEGIN { exit !($1) }"; }

passed=0 failed=0
# check PROGRAM MESH FORMAT LAUNCHER IS_OWN_MESH
check() {
  local program=$1 mesh=$2 format=$3 launcher=$4 own=$5 ranks=1 size command verdict="" ratio
  for size in ${mesh//[^0-9]/ }; do ranks=$((ranks * size)); done
  command=("$run")
  if [[ $launcher == mpirun ]]; then command=(mpirun -n "$ranks" "$run"); fi
  command+=("$models/$program/model.$format" --mesh "$mesh" --report "$report"
    --state "$models/$program/state.safetensors" --batches "$models/$program/batches.safetensors"
    --check "$models/$program/expected.safetensors" --set log.progress=off)
  if [[ $launcher == threads ]]; then command+=(--ranks "$ranks" --device "$device"); fi
  if [[ -f $models/$program/tolerances.json ]]; then
    command+=(--tolerances "$models/$program/tolerances.json")
  fi
  rm -f "$report"/*
  timeout 300 "${command[@]}" > "$report/output" 2>&1 || verdict="FAILED"
  if [[ ! -f $report/report.json ]]; then
    printf '%-14s %-14s %-6s %-7s %s\n' "$program" "$mesh" "$format" "$launcher" "FAILED"
    grep -m 3 . "$report/output" | sed 's/^/    /'
    failed=$((failed + 1))
    return
  fi
  ratio=$(awk "BEGIN { printf \"%.3f\", $(field bytes_sent_per_step) / $(xla "$program" bytes) }")
  if [[ $own == yes ]]; then
    holds "$ratio <= $(xla "$program" limit)" || verdict+=" SENDS MORE THAN $(xla "$program" limit)"
    holds "$(field full_rematerializations) == 0" || verdict+=" REMATERIALISES"
    holds "$(field replicated_flops) <= 1.05" || verdict+=" REPLICATES WORK"
  else
    ratio=-
  fi
  printf '%-14s %-14s %-6s %-7s %9.1e %9.1e %10d %6s %3d %6.3f  %s\n' "$program" "$mesh" "$format" \
    "$launcher" "$(field worst_metric_difference)" "$(field worst_state_deviation)" \
    "$(field bytes_sent_per_step)" "$ratio" "$(field full_rematerializations)" \
    "$(field replicated_flops)" "${verdict:-ok}"
  grep -m 1 'run on the host' "$report/output" | sed 's/^/    /'
  if [[ -z $verdict ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

quick=no device=cpu one_rank=no
if [[ ${1:-} == --quick ]]; then quick=yes; shift; fi
if [[ ${1:-} == --device ]]; then device=$2 one_rank=yes; shift 2; fi
wanted=" $* "
is_wanted() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }

printf '%-14s %-14s %-6s %-7s %9s %9s %10s %6s %3s %6s\n' program mesh format ranks metrics state \
  bytes "of XLA" mat flops
while IFS='|' read -r program own others; do
  read -r program <<< "$program"; read -r own <<< "$own"
  [[ -n $program ]] && is_wanted "$program" || continue
  if [[ $one_rank == yes ]]; then
    if [[ $program != ring_shard_map ]]; then own=$(sed 's/[0-9][0-9]*/1/g' <<< "$own"); fi
    check "$program" "$own" hlo.pb threads no < /dev/null
    continue
  fi
  for format in hlo.pb mlir; do
    check "$program" "$own" "$format" threads yes < /dev/null
    if [[ $quick == yes ]]; then continue; fi
    check "$program" "$own" "$format" mpirun yes < /dev/null
    for mesh in $others; do
      for launcher in threads mpirun; do
        check "$program" "$mesh" "$format" "$launcher" no < /dev/null
      done
    done
  done
done <<< "$programs"
while [[ $quick == yes ]] && read -r program mesh format launcher; do
  [[ -n $program ]] && is_wanted "$program" || continue
  check "$program" "$mesh" "$format" "$launcher" no < /dev/null
done <<< "$quick_extra"

echo "$passed runs as expected, $failed not"
(( failed == 0 && passed > 0 ))
