# Ctrl-C, and SIGTERM, end a run on threads with one line that says how far it came.
. tests/launcher/support/lib.sh
write_files
write_zeros long.safetensors 1000000 "x:[1000000,8,4]:128" "y:[1000000,8,2]:64"

# interrupt SIGNAL RANKS   Starts a long run, and sends the signal after its first step.
interrupt() {
  rm -rf report
  set -m  # jobs in the background do not ignore SIGINT
  "$SPMD_RUN" model.mlir --mesh "data=$2" --ranks "$2" --state state.safetensors \
    --batches long.safetensors --out final.safetensors --report report \
    > stdout 2> stderr < /dev/null &
  local process=$! i
  set +m
  for ((i = 0; i < 600; i++)); do
    [[ -s report/metrics.jsonl ]] && break
    sleep 0.1
  done
  [[ -s report/metrics.jsonl ]] || fail "the run did not start"
  kill "-$1" "$process"
  status=0
  wait "$process" || status=$?
  [[ ! -e final.safetensors ]] || fail "a final state was written"
}
says() { grep -qE -- "$1" stderr || fail "stderr lacks: $1"; }

for ranks in 1 4; do
  interrupt INT "$ranks"
  [[ $status == 130 ]] || fail "exit code $status after SIGINT"
  says '^spmd-run: interrupted \(SIGINT\) after step [0-9]+/1000000: the final state is not written$'
  says '^  it is written after the last step: run fewer at a time, --steps N --out FILE'
  [[ $(grep -c spmd-run stderr) == 1 ]] || fail "more than one line"
done
interrupt TERM 4
[[ $status == 143 ]] || fail "exit code $status after SIGTERM"
says '^spmd-run: told to end \(SIGTERM\) after step [0-9]+/1000000: '
