#!/usr/bin/env bash
# The GPU's side of the runtime on stand-ins for the driver, cuBLASLt and cuDNN (tests/cuda/fake):
# all that is ours but code for the GPU itself. Every kind of step against the evaluator, then a program.
set -uo pipefail
fake=$SPMD_BINARY_DIR/fake_cuda
if [[ ! -e $fake/libcuda.so.1 ]]; then
  echo "[SKIP] built without CUDA"
  exit 77
fi
export SPMD_CUDA_LIBRARY_PATH=$fake
SPMD_TEST_DEVICE=cuda "$SPMD_BINARY_DIR/test_codegen" --gtest_brief=1 \
  --gtest_filter='-*Cache*:*RandomPrograms*' || exit 1

program=tests/data/models/digits_mlp
run=("$SPMD_RUN" "$program/model.mlir" --mesh data=1 --state "$program/state.safetensors"
  --batches "$program/batches.safetensors" --codegen off)
failed=0
fail() {
  printf 'FAILED: %s:\n%s\n' "$1" "$output"
  failed=1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run+=(--cache-dir "$folder/cache")
entries() { find "$folder/cache/tuning" -name '*.tuning' 2> /dev/null | sort; }
output=$("${run[@]}" --device cuda --check "$program/expected.safetensors" 2>&1) ||
  fail "digits_mlp gives other numbers"
grep -q 'run on the host' <<< "$output" || fail "no word of the steps that run on the host"
entry=$(entries | head -n 1)  # one that a run on one rank takes
# Ranks that share a GPU: collectives through the host, on their stream.
for order in late early; do
  output=$(SPMD_FAKE_ORDER=$order "${run[@]}" --mesh data=2 --ranks 2 \
    --check "$program/expected.safetensors" 2>&1) ||
    fail "digits_mlp on two ranks gives other numbers, $order"
done

# --- choices of the library are kept; a damaged one is chosen again, and that is said
[[ -n $(entries) ]] || fail "no choice was kept"
before=$(entries)
output=$("${run[@]}" --device cuda --steps 1 2>&1) || fail "a warm start"
grep -q 'of its entries cannot be used' <<< "$output" && fail "sound entries are refused"
[[ $(entries) == "$before" ]] || fail "a warm start chose again"
printf x >> "$entry"
output=$("${run[@]}" --device cuda --steps 1 2>&1) || fail "a start with a damaged entry"
grep -q 'tuning: 1 of its entries cannot be used, and is timed again: the first is damaged' \
  <<< "$output" || fail "the damaged entry is not named"
# An entry of another problem under this one's name.
cp "$(grep -vxF "$entry" <<< "$before" | head -n 1)" "$entry"
output=$("${run[@]}" --device cuda --steps 1 2>&1) || fail "a start with a foreign entry"
grep -q 'the first is of something else' <<< "$output" || fail "the foreign entry is not named"
# What the library does not know: it has another version.
before=$(entries)
output=$(SPMD_FAKE_CUBLAS_VERSION=130200 "${run[@]}" --device cuda --steps 1 2>&1) ||
  fail "a start with another library"
(( $(entries | wc -l) > $(wc -l <<< "$before") )) || fail "another library's choices are taken"
output=$("$SPMD_RUN" cache clear --cache-dir "$folder/cache" 2>&1)
[[ -z $(entries) ]] || fail "cache clear left choices"

# --- random state is the same on every device and mesh, uneven ones too
cat > "$folder/held.mlir" <<'MLIR'
module @step attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(
      %arg0: tensor<300x70xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>,
                                 tf.aliasing_output = 0 : i32} loc("state['w']"),
      %arg1: tensor<11x5x3xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}]>,
                                  tf.aliasing_output = 1 : i32} loc("state['b']"),
      %arg2: tensor<7xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>,
                            tf.aliasing_output = 2 : i32} loc("state['c']"),
      %arg3: tensor<7xf64> {tf.aliasing_output = 3 : i32} loc("state['d']"),
      %arg4: tensor<9xf32> {tf.aliasing_output = 4 : i32} loc("state['mu']"),
      %arg5: tensor<501xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>,
                              tf.aliasing_output = 5 : i32} loc("state['ids']"))
      -> (tensor<300x70xf32>, tensor<11x5x3xbf16>, tensor<7xf16>, tensor<7xf64>, tensor<9xf32>,
          tensor<501xi32>, tensor<i32>) {
    %row = stablehlo.slice %arg5 [3:4] : (tensor<501xi32>) -> tensor<1xi32>
    %index = stablehlo.reshape %row : (tensor<1xi32>) -> tensor<i32>
    %one = stablehlo.dynamic_slice %arg5, %index, sizes = [1] : (tensor<501xi32>, tensor<i32>) -> tensor<1xi32>
    %metric = stablehlo.reshape %one : (tensor<1xi32>) -> tensor<i32>
    return %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %metric
        : tensor<300x70xf32>, tensor<11x5x3xbf16>, tensor<7xf16>, tensor<7xf64>, tensor<9xf32>,
          tensor<501xi32>, tensor<i32>
  }
}
MLIR
first=
for place in 'cpu --mesh data=1' 'cpu --mesh data=2 --ranks 2' 'cuda --mesh data=1' \
  'cuda --mesh data=2 --ranks 2'; do
  # shellcheck disable=SC2086
  output=$("$SPMD_RUN" "$folder/held.mlir" --init random --codegen off --steps 1 \
    --cache-dir "$folder/cache" --out "$folder/state" --device $place 2>&1) || fail "--device $place"
  [[ -n $first ]] || { first=$folder/first; cp "$folder/state" "$first"; }
  cmp "$first" "$folder/state" || fail "--device $place draws other numbers"
done
grep -q 'zeros for' <<< "$output" && fail "integers are zeros"
(( $(od -An -v -tx1 "$first" | tr -s ' ' '\n' | sort -u | wc -l) > 200 )) || fail "nothing was drawn"

# --- steps as graphs do what steps do; where the host has a part in them, that is said
cat > "$folder/chain.mlir" <<'MLIR'
module @step {
  func.func public @main(
      %arg0: tensor<16x16xf32> {tf.aliasing_output = 0 : i32} loc("state['w']"),
      %arg1: tensor<16x16xf32> loc("x"))
      -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [0] x [1]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %0, %1 : tensor<16x16xf32>, tensor<16x16xf32>
  }
}
MLIR
for graphs in off auto on; do
  output=$("$SPMD_RUN" "$folder/chain.mlir" --init random --codegen off --steps 20 --device cuda \
    --cache-dir "$folder/cache" --cuda-graphs $graphs --out "$folder/$graphs" 2>&1) ||
    fail "--cuda-graphs $graphs"
done
grep -q 'note: steps are recorded as CUDA graphs from the second one on' <<< "$output" ||
  fail "no word of the graphs"
grep -q 'steps are not recorded' <<< "$output" && fail "graphs were given up"
cmp "$folder/off" "$folder/on" || fail "steps as graphs give other numbers"
cmp "$folder/off" "$folder/auto" || fail "steps that become graphs give other numbers"
output=$("${run[@]}" --device cuda --check "$program/expected.safetensors" 2>&1) ||
  fail "a program with steps on the host, and graphs where they can be"
grep -q 'recorded as CUDA graphs' <<< "$output" && fail "graphs that nobody asked for are missed"
output=$("${run[@]}" --device cuda --cuda-graphs on --check "$program/expected.safetensors" 2>&1) ||
  fail "a program with steps on the host, and graphs"
grep -q 'note: steps are not recorded as CUDA graphs: a step runs on the host: ' <<< "$output" ||
  fail "no word of why there are no graphs"

# --- convolutions by the library: none of its engines that round or are not deterministic
SPMD_FAKE_CUDNN_VERSION=91400 SPMD_TEST_DEVICE=cuda "$SPMD_BINARY_DIR/test_codegen" --gtest_brief=1 \
  --gtest_filter='*Convolution*' || fail "convolutions by cuDNN mean something else"
cnn=tests/data/models/digits_cnn
convolve() {
  SPMD_FAKE_CUDNN_VERSION=$1 "$SPMD_RUN" $cnn/model.mlir --mesh data=1 --codegen off --device cuda \
    --state $cnn/state.safetensors --batches $cnn/batches.safetensors \
    --check $cnn/expected.safetensors --cache-dir "$folder/convolutions" 2>&1
}
output=$(convolve 91400) || fail "digits_cnn by cuDNN gives other numbers"
if ! grep -q 'built without cudnn-frontend' <<< "$output"; then
  grep -q '5 convolutions: 5 by cuDNN.*; 5 choices timed' <<< "$output" || fail "cuDNN is not taken"
  grep -rqE '^eng[01]$' "$folder/convolutions" && fail "an engine is taken that rounds to TF32"
  output=$(convolve 91400) || fail "digits_cnn by cuDNN, with known choices"
  grep -q '5 by cuDNN.*; 0 choices timed' <<< "$output" || fail "choices of engines are not kept"
fi
output=$(convolve 91001) || fail "digits_cnn without cuDNN"
grep -q '5 convolutions: 0 by cuDNN' <<< "$output" || fail "no word of the missing cuDNN"

# --- what can be wrong with a GPU
output=$(SPMD_FAKE_GPU_ARCHITECTURE=75 "${run[@]}" --device cuda 2>&1) && fail "sm_75 is taken"
grep -q 'is of architecture sm_75, but programs need sm_80 or newer' <<< "$output" ||
  fail "an old GPU is not named"
output=$(SPMD_FAKE_GPU_MEMORY=100000 "${run[@]}" --device cuda 2>&1) && fail "runs without memory"
grep -q 'of memory are free, but the program needs' <<< "$output" ||
  fail "the lack of memory is not named"
exit $failed
