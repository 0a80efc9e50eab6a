#!/usr/bin/env bash
# Collectives beside computation, on the stand-ins of tests/cuda/fake: whether they are as late or as
# early as the events allow, the numbers are those of one stream, and the report says what computation
# waited for. When any wait is left out the numbers are others, or the run fails; so each is needed, and
# this test sees when one is missing.
set -uo pipefail
fake=$SPMD_BINARY_DIR/fake_cuda
if [[ ! -e $fake/libcuda.so.1 ]]; then
  echo "[SKIP] built without CUDA"
  exit 77
fi
export SPMD_CUDA_LIBRARY_PATH=$fake SPMD_FAKE_GPUS=2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
fail() {
  printf 'FAILED: %s:\n%s\n' "$1" "$(tail -n 20 "$folder/output")"
  failed=1
}

# What a program of its own gives as state is this one's batches.
cat > "$folder/batches.mlir" <<'MLIR'
module @step {
  func.func public @main(
      %arg0: tensor<3x16x16xf32> {tf.aliasing_output = 0 : i32} loc("state['x']"))
      -> tensor<3x16x16xf32> {
    return %arg0 : tensor<3x16x16xf32>
  }
}
MLIR
"$SPMD_RUN" "$folder/batches.mlir" --init random --steps 1 --device cpu --out "$folder/batches" \
  --cache-dir "$folder/cache" > "$folder/output" 2>&1 || fail "batches"

# All steps are the GPU's own. The first collective reads a batch, the last one writes a result.
cat > "$folder/moves.mlir" <<'MLIR'
module @step attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(
      %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>,
                             tf.aliasing_output = 0 : i32} loc("state['w']"),
      %u: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>,
                             tf.aliasing_output = 1 : i32} loc("state['q']"),
      %v: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>,
                             tf.aliasing_output = 2 : i32} loc("state['p']"),
      %a: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>,
                             tf.aliasing_output = 3 : i32} loc("state['a']"),
      %b: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>,
                             tf.aliasing_output = 4 : i32} loc("state['b']"),
      %x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"))
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
          tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
          tensor<16x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>) {
    %g = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<16x16xf32>
    %h = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %k = stablehlo.dot_general %g, %h, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %m = stablehlo.dot_general %k, %v, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %n = stablehlo.dot_general %m, %s, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %l = stablehlo.dot_general %w, %n, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %o = sdy.sharding_constraint %l <@mesh, [{}, {}]> : tensor<16x16xf32>
    %t = stablehlo.dot_general %w, %h, contracting_dims = [1] x [0]
        : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    return %t, %o, %v, %a, %b : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>,
                                tensor<16x32xf32>, tensor<32x16xf32>
  }
}
MLIR

# A collective in each trip of a loop.
cat > "$folder/loop.mlir" <<'MLIR'
module @step attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2]>
  func.func public @main(
      %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>,
                             tf.aliasing_output = 0 : i32} loc("state['w']"),
      %p: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>,
                             tf.aliasing_output = 1 : i32} loc("state['p']"))
      -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
          tensor<16x16xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %t = %w) : tensor<i32>, tensor<16x16xf32>
      cond {
        %less = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      } do {
        %g = sdy.sharding_constraint %t <@mesh, [{}, {}]> : tensor<16x16xf32>
        %m = stablehlo.dot_general %p, %g, contracting_dims = [1] x [0]
            : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
        %n = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %n, %m : tensor<i32>, tensor<16x16xf32>
      }
    return %r#1, %p : tensor<16x16xf32>, tensor<16x16xf32>
  }
}
MLIR

# run PROGRAM STATE [OPTION...]: all its batches, into the file STATE
run() {
  timeout 100 mpirun -n 2 "$SPMD_RUN" "$folder/$1.mlir" --init random --device cuda \
    --codegen off --cache-dir "$folder/cache" --set log.progress=off --out "$folder/$2" \
    --report "$folder/report" "${@:3}" > "$folder/output" 2>&1
}

# times COMM EXPOSED: milliseconds of every step, by the stand-in's clock
times() {
  grep -qE "^ +comm( +$1){4}\$" "$folder/output" || fail "collectives do not take $1 ms"
  grep -qE "^ +exposed( +$2){4}\$" "$folder/output" || fail "exposed are not $2 ms"
}

# check PROGRAM EXPOSED WAITS [OPTION...]: what is exposed of three collectives; streams wait for each
# other at WAITS places
check() {
  local program=$1 exposed=$2 order graphs waits wait seen options=("${@:4}")
  SPMD_CUDA_ONE_STREAM=1 run "$program" one "${options[@]}" || fail "$program on one stream"
  grep -q 'note: everything is on one stream: SPMD_CUDA_ONE_STREAM is set' "$folder/output" ||
    fail "no word of the one stream"
  (( $(od -An -v -tx1 "$folder/one" | tr -s ' ' '\n' | sort -u | wc -l) > 100 )) || fail "zeros"
  times 0.030 0.030

  true > "$folder/waits"
  for order in late early; do
    for graphs in off on; do
      SPMD_FAKE_ORDER=$order SPMD_FAKE_WAITS=$folder/waits \
        run "$program" two --cuda-graphs $graphs "${options[@]}" || fail "$program, $order"
      cmp -s "$folder/one" "$folder/two" || fail "$program: other numbers, $order, graphs $graphs"
      times 0.030 "$exposed"
      [[ $program == loop ]] || ! grep -q 'steps are not recorded' "$folder/output" ||
        fail "graphs were given up"
    done
  done
  waits=$(sort -nu "$folder/waits" | wc -l)
  (( waits == $3 )) || fail "$program has $waits waits"

  for ((wait = 0; wait < waits; wait++)); do
    seen=
    for order in late early; do
      SPMD_FAKE_ORDER=$order SPMD_FAKE_DROP_WAIT=$wait run "$program" two "${options[@]}" &&
        cmp -s "$folder/one" "$folder/two" || seen+=" $order"
    done
    echo "$program without wait $wait: seen where collectives are${seen:- ... nowhere}"
    [[ -n $seen ]] || failed=1
  done
}

# A product takes 1 us, a collective 10; on one stream all of it is exposed. On two the first gather
# begins with the product of %h, which takes 1 of its 10; nothing is beside the reduction, whose operand
# is the last product before it; the product of %t is beside the last gather.
check moves 0.028 6 --batches "$folder/batches"
# A loop waits for its collectives.
check loop 0.030 2 --steps 3

# More collectives in a step than are measured at once.
sed 's/dense<3>/dense<4200>/' "$folder/loop.mlir" > "$folder/long.mlir"
run long two --steps 1 || fail "a long loop"
times 42.000 42.000

# A trace waits for every step, collectives too, and has them in its table.
run moves one --batches "$folder/batches" || fail "moves"
SPMD_CUDA_TRACE=1 run moves two --batches "$folder/batches" || fail "a trace"
cmp -s "$folder/one" "$folder/two" || fail "other numbers with a trace"
grep -qE ' 6 calls  all_gather$' "$folder/output" || fail "a trace without collectives"
times 0.030 0.030
exit $failed
