# Ranks that would all compute the same, and work that padding adds: said by run and check.
. tests/launcher/support/lib.sh
write_files
says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }
files=(--state state.safetensors --batches batches.safetensors)

sed -e '/sdy.mesh/d; s/ attributes {[^}]*}//; s/sdy.sharding = [^>]*>\(, *\)\{0,1\}//' model.mlir > whole.mlir
run4 whole.mlir "${files[@]}"
expect_error 2 'the program has no mesh and no shardings, but there are 4 ranks' \
  'pass sharding rules with a mesh, which alone shards nothing'
same='nothing is sharded on the mesh data=4: its 4 ranks all compute the same'
run4 whole.mlir --mesh data=4 "${files[@]}"
expect_success
says "warning: whole.mlir: $same" stderr
says '  give sharding rules in a file to --config (sharding: {inputs: {x: [data]}})' stderr
[[ $(grep -c 'compute the same' stderr) == 1 ]] || fail "every rank says it"
run check whole.mlir --mesh data=4
expect_success
says "$same"

# What the warning says to do helps.
printf 'sharding: {inputs: {x: [data]}}\n' > rules.yaml
run4 whole.mlir --mesh data=4 --config rules.yaml "${files[@]}"
expect_success
[[ ! -s stderr ]] || fail "a warning about sharded work"
run whole.mlir "${files[@]}"
expect_success
[[ ! -s stderr ]] || fail "a warning about one rank"
run check model.mlir
expect_success
if grep -q 'compute the same\|padding' stdout; then fail "sharded work is remarked on"; fi

# --- 8 rows on 5 ranks are 10
run check model.mlir --mesh data=5
expect_success
says "padding multiplies the program's work by 1.25: dimension 0 of x is padded from 8 to 10"
run model.mlir --mesh data=5 --ranks 5 "${files[@]}"
expect_success
says "note: model.mlir: padding multiplies the program's work by 1.25"
run check "$SPMD_SOURCE_DIR/tests/data/models/digits_mlp/model.mlir" --mesh data=60
expect_success
says "padding multiplies the program's work by 1.88: dimension 0 of argument 12 is padded from 64 to 120"
run check "$SPMD_SOURCE_DIR/tests/data/models/digits_mlp/model.mlir" --mesh data=33
expect_success
if grep -q padding stdout; then fail "a thirtieth is remarked on"; fi
