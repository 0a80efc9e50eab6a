# --init random draws the same numbers on every mesh and from a saved Plan: tokens too, whose bound is
# the vocabulary.
. tests/launcher/support/lib.sh
program=$SPMD_SOURCE_DIR/tests/data/models/gru_scan/model.mlir
options=(--init random --device cpu --codegen off)
says() { grep -qF -- "$1" stdout || fail "no \"$1\" on stdout"; }

run "$program" --mesh data=1 "${options[@]}" --out one.st --report one
expect_success
if grep -q 'zeros' stdout; then fail "tokens are zeros"; fi
for ranks in 2 3; do
  run "$program" --mesh "data=$ranks" --ranks "$ranks" "${options[@]}" --check one.st
  expect_success
done
run "$program" --mesh data=1 "${options[@]}" --save-plan step.plan
expect_success
run step.plan --init random --device cpu --out plan.st --report plan
expect_success
cmp one.st plan.st || fail "a saved plan draws other numbers"
cmp one/metrics.jsonl plan/metrics.jsonl || fail "a saved plan computes another loss"

# Integers of which nothing says what they may be.
run "$SPMD_SOURCE_DIR/tests/data/models/dropout_mlp/model.mlir" --mesh data=1 "${options[@]}"
expect_success
says "note: --init random: zeros for 1 integer argument whose use implies no bound:"
says "    result[0]['key'] ui32[2]"
