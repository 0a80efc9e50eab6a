# A rank that dies in the middle of a step: the others end, and say which rank is missing in which
# collective. Both ways: mpirun ends them, and nobody does, so that they have to find out.
. tests/launcher/support/lib.sh
write_files
sed -i 's/"data"=4/"data"=2/' model.mlir
write_zeros long.safetensors 1000000 "x:[1000000,8,4]:128" "y:[1000000,8,2]:64"

run model.mlir --watchdog 0 --ranks 2 --state state.safetensors --batches batches.safetensors
expect_error 2 '--watchdog: found "0", expected seconds: more than 0'

# die MPIRUN_OPTION...   Starts two ranks, and kills one while the other waits for it.
die() {
  local report=$PWD/report  # no other run has this one
  rm -rf report
  timeout 100 mpirun -n 2 "$@" "$SPMD_RUN" model.mlir --state state.safetensors --watchdog 2 \
    --report "$report" --batches long.safetensors > stdout 2> stderr < /dev/null &
  local mpirun=$! i victim
  status=0
  for ((i = 0; i < 600; i++)); do
    [[ -s report/metrics.jsonl ]] && break
    sleep 0.1
  done
  [[ -s report/metrics.jsonl ]] || fail "the run did not start"
  victim=$(pgrep -f "^$SPMD_RUN model.mlir .* --report $report" | tail -n 1)
  kill -STOP "$victim"  # the other one comes to a collective, and waits there
  sleep 0.3
  kill -9 "$victim"
  wait "$mpirun" || status=$?
  [[ $status != 124 ]] || fail "the other rank did not end"
}

says() { grep -qE -- "$1" stderr || fail "stderr lacks: $1"; }
collective='in (all_reduce|all_gather|reduce_scatter) of .* for rank [01]$'

die
[[ $status != 0 ]] || fail "exit code 0 after a rank was killed"
says "^spmd-run: rank [01]: was told to end \(SIGTERM\) while it waited $collective"
[[ $(grep -c 'SIGTERM' stderr) == 1 ]] || fail "the other rank says twice how it was ended"

# Ctrl-C: each rank says once how it was ended, and none is said to have died.
rm -rf report
set -m  # jobs in the background do not ignore SIGINT
timeout 100 mpirun -n 2 "$SPMD_RUN" model.mlir --state state.safetensors --report report \
  --batches long.safetensors > stdout 2> stderr < /dev/null &
mpirun=$!
set +m
for ((i = 0; i < 600; i++)); do
  [[ -s report/metrics.jsonl ]] && break
  sleep 0.1
done
kill -INT "$(pgrep -P "$mpirun")"
status=0
wait "$mpirun" || status=$?
[[ $status != 0 && $status != 124 ]] || fail "exit code $status after SIGINT"
says '^spmd-run: rank [01]: was told to end \(SIGTERM\)'
for rank in 0 1; do
  [[ $(grep -c "rank $rank: was told" stderr) -le 1 ]] || fail "rank $rank says it twice"
done
says '^spmd-run: ended after step [0-9]+/1000000: the final state is not written$'
[[ $(grep -c 'ended after' stderr) == 1 ]] || fail "not one rank says how far the run came"
if grep -q 'that rank may have died' stderr; then fail "a rank is blamed for Ctrl-C"; fi

die --enable-recovery
says "^spmd-run: rank [01]: waited 2 s $collective"
