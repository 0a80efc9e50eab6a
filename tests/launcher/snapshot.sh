# An HloSnapshot is its own test: its arguments go in, and its results must come out.
. tests/launcher/support/lib.sh
snapshot=$SPMD_SOURCE_DIR/tests/data/snapshots/linear.snapshot.pb

says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

# --- on any mesh
for mesh in axis_0=1 axis_0=2 axis_0=3; do
  run "$snapshot" --mesh "$mesh" --ranks "${mesh#*=}"
  expect_success
  says "the arguments are those that the file records"
  says "  y  "
  says "check against $snapshot: passed"
done
run4 "$snapshot" --mesh axis_0=4 --report out
expect_success
says '"passed": true' out/report.json

# --- numbers that differ: numpy's double precision is not matched to the last bit
echo '{"metrics": 0, "state": 0}' > exact.json
run "$snapshot" --mesh axis_0=2 --ranks 2 --tolerances exact.json --codegen off
expect_error 4 "$snapshot: the run gave other numbers"
says FAILED

# --- only one step is recorded
run "$snapshot" --mesh axis_0=1 --steps 2
expect_success
says "records the results of one step, which are not compared with those of 2"
! grep -q 'check against' stdout || fail "compared two steps with one"

# --- other inputs are not the recorded ones, and have no recorded results
run "$snapshot" --mesh axis_0=1 --init random
expect_success
! grep -q 'check against' stdout || fail "compared with the results of other inputs"
run "$snapshot" --mesh axis_0=1 --init random --tolerances exact.json
expect_error 2 "--tolerances: there is nothing to compare"
