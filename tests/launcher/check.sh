# spmd-run check: what a mesh costs, without ranks.
. tests/launcher/support/lib.sh
write_model

says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

run check model.mlir
expect_success
says 'data=4, 4 ranks'
says 'all_reduce'
says 'tensor<8x4xf32>'
# w is whole on 4 ranks: 32 bytes, of which a quarter would be enough; x and y are cut.
says 'arguments: 80 bytes a rank, 24 of them beyond an equal share'
says 'params'
# What the all-reduce is for, and where x has its sharding from.
says 'parts of stablehlo.dot_general at model.mlir:13, for stablehlo.multiply at model.mlir:16 (operand 0)'
run check model.mlir --verbose
expect_success
says 'values as propagation placed them'
says 'y, through stablehlo.subtract at model.mlir:12'
run check model.mlir --mesh data=8 --json
expect_success
says '"ranks": 8'
says '"kind": "all_reduce"'
run check model.mlir --mesh data=-1
expect_error 2 '--mesh: the mesh data=-1 leaves a size open' '--ranks 64'
run check model.mlir --mesh data=-1 --ranks 2 --json
expect_success
says '"ranks": 2'
sed 's/stablehlo.subtract %0/stablehlo.frobnicate %0/' model.mlir > unsupported.mlir
run check unsupported.mlir
expect_error 3 'stablehlo.frobnicate'

# The description of a program is as small for 4,096 devices as for 4.
run check "$SPMD_SOURCE_DIR/tests/data/large/gpt2-124m-fsdp4.hlo.pb.gz" --mesh x=4096
expect_success
says 'x=4096, 4096 ranks'

# --- meshes of more devices than ranks can be numbered, and of as many as can
digits=$SPMD_SOURCE_DIR/tests/data/models/digits_mlp/model.mlir
for mesh in data=2147483648 data=99999999999 data=65536,model=32768; do
  run check "$digits" --mesh "$mesh"
  expect_error 2 "--mesh: the mesh $mesh has more than 2147483647 devices" 'choose smaller sizes'
done
for mesh in data=2147483647 data=1073741824; do
  run check "$digits" --mesh "$mesh" --json
  expect_success
  ! grep -qE '(bytes|_bytes)": -' stdout || fail "a negative number of bytes on $mesh"
done
