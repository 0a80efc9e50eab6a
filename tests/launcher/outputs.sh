# Where a run writes: devices, pipes and links stay what they are, inputs are not replaced, and what
# is lost is said.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --mesh data=1 --state state.safetensors --batches batches.safetensors)

run "${good[@]}" --out plain.st --save-plan step.plan
expect_success

# --- what is no regular file is written in place
run "${good[@]}" --out /dev/full
expect_error 3 '/dev/full: cannot be written: No space left on device' 'has room'
[[ -c /dev/full ]] || fail "/dev/full was replaced"
ln -s /dev/full full
run "${good[@]}" --save-plan full
expect_error 3 'full: cannot be written: No space left on device'
run "${good[@]}" --out /dev/null --save-plan /dev/null
expect_success
[[ -c /dev/null ]] || fail "/dev/null was replaced"
mkfifo pipe
cat pipe > through_pipe &
run "${good[@]}" --out pipe
wait
expect_success
[[ -p pipe ]] || fail "a pipe was replaced"
cmp plain.st through_pipe || fail "a pipe passes on other bytes"

# --- links are followed, those to nothing yet too
mkdir elsewhere
ln -s elsewhere/target.st link.st
ln -s "$PWD/link.st" link_to_link.st
for link in link.st link_to_link.st; do
  run "${good[@]}" --out "$link"
  expect_success
  [[ -L $link ]] || fail "$link was replaced"
  cmp plain.st elsewhere/target.st || fail "$link was not followed"
  [[ $(ls elsewhere) == target.st ]] || fail "left behind: $(ls elsewhere)"
  : > elsewhere/target.st
done
ln -s loop_b loop_a
ln -s loop_a loop_b
run "${good[@]}" --out loop_a
expect_error 3 'loop_a: its symbolic links lead to no end' 'name the file itself'

# --- no output replaces an input or another output
ln -s state.safetensors state_link.st
ln -s . here
for path in state.safetensors ./state.safetensors here/state.safetensors state_link.st; do
  run "${good[@]}" --out "$path"
  expect_error 3 "$path: --out would replace an input of this run, --state" 'choose another file'
done
run "${good[@]}" --save-plan model.mlir
expect_error 3 'model.mlir: --save-plan would replace an input of this run, the program'
run "${good[@]}" --check plain.st --out plain.st
expect_error 3 'plain.st: --out would replace an input of this run, --check'
run "${good[@]}" --out new.st --save-plan here/new.st
expect_error 3 'here/new.st: --save-plan would replace another output, --out'
mkdir report
run "${good[@]}" --report report --out report/report.json
expect_error 3 'report/report.json: --report would replace another output, --out'

# --- standard output that is lost
lost() {
  status=0
  "$@" > /dev/full 2> stderr || status=$?
  : > stdout
  expect_error 3 'spmd-run: standard output: cannot be written' 'has room'
}
lost "$SPMD_RUN" "${good[@]}"
lost "$SPMD_RUN" check model.mlir
lost "$SPMD_RUN" check model.mlir --json --verbose
lost "$SPMD_RUN" check step.plan --print-config
lost "$SPMD_RUN" cache ls
lost "$SPMD_RUN" --help

# --- a damaged Plan
size=$(wc -c < step.plan)
for at in 300 $((size / 2)) $((size - 1)); do
  cp step.plan damaged.plan
  byte=$(od -An -tu1 -j "$at" -N 1 step.plan)
  # shellcheck disable=SC2059
  printf "\\x$(printf '%02x' $((byte ^ 16)))" | dd of=damaged.plan bs=1 seek="$at" conv=notrunc status=none
  for command in "run damaged.plan --state state.safetensors --batches batches.safetensors" \
    "run check damaged.plan"; do
    $command
    expect_error 3 'damaged.plan: is damaged: its checksum differs' 'compile the program again'
  done
done
head -c 1000 step.plan > cut.plan
run cut.plan
expect_error 3 'cut.plan: is damaged: its end with the checksum is not there'
