# shellcheck shell=bash
# For the shell tests of spmd-run: a small program, files of tensors, and checks of what a command
# printed. Read it first; it moves to an empty folder that goes with the test.
set -euo pipefail

work=$(mktemp -d)
SPMD_CACHE_DIR=$(mktemp -d)  # not the one of whoever runs the tests
export SPMD_CACHE_DIR
trap 'rm -rf "$work" "$SPMD_CACHE_DIR"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  [[ -f stdout ]] && sed 's/^/  stdout: /' stdout >&2
  [[ -f stderr ]] && sed 's/^/  stderr: /' stderr >&2
  exit 1
}

# One step of linear regression on data=4: state w, batch x and y, loss. Writes model.mlir.
write_model() {
  cat > model.mlir <<'MLIR'
module @step attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["data"=4]>
  func.func public @main(
      %arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>,
                              tf.aliasing_output = 0 : i32},
      %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"),
      %arg2: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("y"))
      -> (tensor<4x2xf32> {jax.result_info = "result[0]['params']['w']"},
          tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0]
        : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.subtract %0, %arg2 : tensor<8x2xf32>
    %2 = stablehlo.dot_general %arg1, %1, contracting_dims = [0] x [0]
        : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %cst = stablehlo.constant dense<1.250000e-02> : tensor<4x2xf32>
    %3 = stablehlo.multiply %2, %cst : tensor<4x2xf32>
    %4 = stablehlo.subtract %arg0, %3 : tensor<4x2xf32>
    %5 = stablehlo.multiply %1, %1 : tensor<8x2xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [0, 1]
        : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
    return %4, %6 : tensor<4x2xf32>, tensor<f32>
  }
}
MLIR
}

# write_header JSON   Its length in 8 bytes, least significant first, and itself.
write_header() {
  # shellcheck disable=SC2059
  printf "$(printf '%016x' ${#1} | sed 's/../& /g' |
    awk '{ for (i = 8; i > 0; i--) printf "\\x%s", $i }')"
  printf '%s' "$1"
}

# write_tensors FILE NAME:DTYPE:SHAPE:WORD...   e.g. w:F32:[4,2]:0000803f
# A safetensors file; each tensor repeats a word of hexadecimal digits.
write_tensors() {
  local file=$1 header="" offset=0 entry name dtype shape word count dim length
  shift
  : > "$file.data"
  for entry in "$@"; do
    IFS=: read -r name dtype shape word <<< "$entry"
    count=1
    for dim in ${shape//[^0-9]/ }; do count=$((count * dim)); done
    for ((i = 0; i < count; i++)); do
      # shellcheck disable=SC2059
      printf "$(sed 's/../\\x&/g' <<< "$word")"
    done >> "$file.data"
    length=$((count * ${#word} / 2))
    header+="${header:+,}\"$name\":{\"dtype\":\"$dtype\",\"shape\":$shape,"
    header+="\"data_offsets\":[$offset,$((offset + length))]}"
    offset=$((offset + length))
  done
  { write_header "{$header}"; cat "$file.data"; } > "$file"
  rm "$file.data"
}

one=0000803f zero=00000000  # as F32

# write_zeros FILE COUNT NAME:SHAPE:BYTES...   F32 tensors of COUNT times BYTES each, all zero.
write_zeros() {
  local file=$1 count=$2 header="" offset=0 entry name shape bytes
  shift 2
  for entry in "$@"; do
    IFS=: read -r name shape bytes <<< "$entry"
    header+="${header:+,}\"$name\":{\"dtype\":\"F32\",\"shape\":$shape,"
    header+="\"data_offsets\":[$offset,$((offset + count * bytes))]}"
    offset=$((offset + count * bytes))
  done
  write_header "{$header}" > "$file"
  truncate -s $(($(wc -c < "$file") + offset)) "$file"
}

# The files of a run that works: state of ones, five batches.
write_files() {
  write_model
  write_tensors state.safetensors "params.w:F32:[4,2]:$one"
  write_tensors batches.safetensors "x:F32:[5,8,4]:$one" "y:F32:[5,8,2]:$zero"
}

# run ARGUMENTS...   on one rank; run4: on four threads; run_mpi: on four processes. The limit ends
# what hangs, on the busiest machine too.
status=0
capture() {
  status=0
  timeout 300 "$@" > stdout 2> stderr < /dev/null || status=$?
}
run() { capture "$SPMD_RUN" "$@"; }
run4() { capture "$SPMD_RUN" "$@" --ranks 4; }
run_mpi() { capture mpirun -n 4 "$SPMD_RUN" "$@"; }

# expect_error EXIT_CODE TEXT...   The last command failed that way; every text is in its message,
# the first one once.
expect_error() {
  local code=$1 text count
  shift
  [[ $status == "$code" ]] || fail "exit code $status, expected $code"
  count=$(grep -cF -- "$1" stderr || true)
  [[ $count == 1 ]] || fail "\"$1\" is printed $count times, expected once"
  for text in "$@"; do grep -qF -- "$text" stderr || fail "no \"$text\" on stderr"; done
  if grep -q 'internal error' stderr; then fail "an internal error"; fi
}

# everywhere EXIT_CODE TEXT... -- ARGUMENTS...   The same failure on one rank, on four threads and
# on four processes, and nothing left behind but compiled kernels.
everywhere() {
  local code=$1 texts=() before
  shift
  while [[ $1 != -- ]]; do texts+=("$1"); shift; done
  shift
  before=$(ls -I stdout -I stderr -I cache)
  run "$@" --mesh data=1
  expect_error "$code" "${texts[@]}"
  run4 "$@"
  expect_error "$code" "${texts[@]}"
  run_mpi "$@"
  expect_error "$code" "${texts[@]}"
  [[ $(ls -I stdout -I stderr -I cache) == "$before" ]] || fail "left behind: $(ls)"
}

expect_success() {
  [[ $status == 0 ]] || fail "exit code $status"
}
