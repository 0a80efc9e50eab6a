#!/usr/bin/env bash
# spmd-opt reduce: what it finds, what it leaves, what it refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAILED: $*" >&2; exit 1; }
# reduces CODE COMMAND...: the exit code, with standard output in `stdout` and errors in `stderr`.
reduces() {
  local code=$1 status=0
  shift
  "$SPMD_OPT" reduce "$@" > stdout 2> stderr || status=$?
  [[ $status == "$code" ]] || fail "reduce $* ended with $status, expected $code: $(cat stderr)"
}
says() { grep -qF -- "$1" "${2:-stderr}" || fail "no \"$1\" in: $(cat "${2:-stderr}")"; }
lacks() { if grep -qF -- "$1" "$2"; then fail "\"$1\" is left in: $(cat "$2")"; fi; }

# Rounding, which a tolerance of zero takes for a fault: a sum over a dimension that is cut, among
# ops that have nothing to do with it.
cat > sum.mlir <<'MLIR'
module @sum {
  sdy.mesh @mesh = <["data"=4, "model"=2]>
  func.func public @main(%x: tensor<64x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                         %y: tensor<24xf32>) -> (tensor<24xf32>, tensor<24xf32>) {
    %e = stablehlo.exponential %x : tensor<64x24xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x24xf32>, tensor<f32>) -> tensor<24xf32>
    %t = stablehlo.tanh %y : tensor<24xf32>
    %p = stablehlo.multiply %s, %t : tensor<24xf32>
    %n = stablehlo.negate %p : tensor<24xf32>
    %c = stablehlo.cosine %y : tensor<24xf32>
    return %n, %c : tensor<24xf32>, tensor<24xf32>
  }
}
MLIR
reduces 3 sum.mlir
says 'sum.mlir: nothing fails: it compiles, and every stage computes the same'
says 'a smaller --tolerance'
reduces 0 sum.mlir --tolerance 0 -o small.mlir
says 'fails at localize'
says 'stablehlo.reduce' small.mlir
says '// reduced from sum.mlir' small.mlir
for op in tanh cosine negate multiply '"model"'; do lacks "$op" small.mlir; done
# What is left fails alike, and is as small as it gets.
reduces 0 small.mlir --tolerance 0
lacks '//' <(grep -v '^//' stdout)
diff <(grep -v '^//' small.mlir) <(grep -v '^//' stdout) > difference ||
  fail "what is left can be made smaller: $(cat difference)"

# An error of the compiler.
cat > unknown.mlir <<'MLIR'
module @unknown {
  func.func public @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.negate %x : tensor<8x128xf32>
    %1 = call @inner(%0) : (tensor<8x128xf32>) -> tensor<8x128xf32>
    %2 = stablehlo.add %1, %1 : tensor<8x128xf32>
    return %2 : tensor<8x128xf32>
  }
  func.func private @inner(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.custom_call @MyKernel(%x) : (tensor<8x128xf32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
MLIR
reduces 0 unknown.mlir
says 'fails at check_custom_calls'
says '@MyKernel' stdout
says 'tensor<1x1xf32>' stdout
for op in negate 'stablehlo.add' inner; do lacks "$op" stdout; done

# Mistakes.
reduces 2
reduces 2 sum.mlir --mesh data=0
reduces 2 sum.mlir --timeout 0
reduces 3 no-such-file.mlir
says 'no-such-file.mlir'
reduces 3 sum.mlir --tolerance 0 -o /dev/null/out
says '/dev/null/out'
"$SPMD_OPT" --help | grep -q reduce || fail "--help does not name reduce"
"$SPMD_OPT" reduce --help > stdout
for option in --mesh --config --seed --tolerance --timeout --output; do says "$option" stdout; done
