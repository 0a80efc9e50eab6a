#!/usr/bin/env bash
# spmd-opt: what it prints, writes and refuses.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect <text> <command...>: the command's output holds the text.
expect() {
  local text=$1 output
  shift
  output=$("$@" 2>&1) || true
  [[ $output == *"$text"* ]] || fail "$* did not print '$text' but: $output"
}

cat > "$folder/program.mlir" <<'MLIR'
module @program {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %cst = stablehlo.constant dense<0.0> : tensor<4xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<4xf32>
    %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @twice(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
MLIR
program=$folder/program.mlir

"$SPMD_OPT" "$program" --pass inline_calls,simplify -o "$folder/simple.mlir" --time-passes 2> "$folder/times"
grep -q 'stablehlo.add %arg0, %arg0' "$folder/simple.mlir" || fail "the call was not inlined"
grep -q ' ops  simplify' "$folder/times" || fail "no timing of simplify"

# Through the binary form and back, the text is the same.
"$SPMD_OPT" "$folder/simple.mlir" --emit proto -o "$folder/simple.pb"
"$SPMD_OPT" "$folder/simple.pb" --emit text -o "$folder/again.mlir"
cmp "$folder/simple.mlir" "$folder/again.mlir" || fail "text to proto to text changed the program"

expect 'largest difference: 0' "$SPMD_OPT" "$program" --pass inline_calls,simplify --check
expect 'inline_calls' "$SPMD_OPT" --list-passes
"$SPMD_OPT" "$program" --pass inline_calls,simplify --stop-after inline_calls \
  --dump-dir "$folder/dump" > /dev/null
[[ -f $folder/dump/001-inline_calls.mlir && -f $folder/dump/manifest.json ]] || fail "no dumps"
[[ ! -f $folder/dump/002-simplify.mlir ]] || fail "--stop-after did not stop"

# Programs that check themselves, several in a file.
cat > "$folder/checks.mlir" <<'MLIR'
// RUN: stablehlo-translate --interpret -split-input-file %s
func.func @add_op_test() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<[2, 4]> : tensor<2xi32>
  func.return
}

// -----

func.func @main() -> tensor<f32> {
  %0 = stablehlo.constant dense<2.0> : tensor<f32>
  %1 = chlo.lgamma %0 : tensor<f32> -> tensor<f32>
  check.expect_close_const %1, dense<0.0> : tensor<f32>
  func.return %1 : tensor<f32>
}
MLIR
"$SPMD_OPT" --evaluate "$folder/checks.mlir" | grep -q 'result 0: dense<0.0' || fail "no result"
sed -i 's/\[2, 4\]/[2, 5]/' "$folder/checks.mlir"
expect "check.expect_eq_const at $folder/checks.mlir, part 1:5: 1 element is not as expected" \
  "$SPMD_OPT" --evaluate "$folder/checks.mlir"
status=0
"$SPMD_OPT" --evaluate "$folder/checks.mlir" > /dev/null 2>&1 || status=$?
[[ $status == 4 ]] || fail "exit code $status for a failed check"

# What is wrong, where, and what to do.
expect "did you mean 'simplify'?" "$SPMD_OPT" "$program" --pass simplfy
expect "skip: there is no pass 'cse'" "$SPMD_OPT" "$program" --pass simplify --skip cse
expect 'no-such-file' "$SPMD_OPT" "$folder/no-such-file"
expect '/dev/null/out: cannot be written: Not a directory' "$SPMD_OPT" "$program" -o /dev/null/out
expect 'spmd-opt: no program given: expected a file
  see spmd-opt --help' "$SPMD_OPT"
expect 'spmd-opt: --emit: found "foo", expected text or proto
  see spmd-opt --help' "$SPMD_OPT" "$program" --emit foo
expect 'spmd-opt: unknown option --evalute
  did you mean --evaluate?
  see spmd-opt --help' "$SPMD_OPT" "$program" --evalute
expect 'spmd-opt: unknown option --sed
  did you mean --seed?' "$SPMD_OPT" reduce "$program" --sed 3
expect 'spmd-opt: unexpected argument other' "$SPMD_OPT" "$program" other
for tolerance in abc -1 nan 1x; do
  expect "spmd-opt: --tolerance: found \"$tolerance\", expected a number of at least 0" \
    "$SPMD_OPT" "$program" --check --tolerance=$tolerance
  expect "spmd-opt: --tolerance: found \"$tolerance\"" \
    "$SPMD_OPT" reduce "$program" --tolerance=$tolerance
done
if "$SPMD_OPT" "$program" --pass simplfy > /dev/null 2>&1; then fail "exit code 0 for an error"; fi

# The exit codes of spmd-run.
# fails_with <code> <command...>
fails_with() {
  local code=$1 status=0
  shift
  "$@" > /dev/null 2>&1 || status=$?
  [[ $status == "$code" ]] || fail "$* ended with $status, expected $code"
}
fails_with 2 "$SPMD_OPT"
fails_with 2 "$SPMD_OPT" "$program" --unknown
fails_with 2 "$SPMD_OPT" "$program" --emit foo
fails_with 2 "$SPMD_OPT" "$program" --check --tolerance=-1
fails_with 2 "$SPMD_OPT" "$program" --pass simplfy
fails_with 2 "$SPMD_OPT" "$program" --pass simplify --skip cse
fails_with 2 "$SPMD_OPT" "$program" --mesh data=0
fails_with 3 "$SPMD_OPT" "$folder/no-such-file"
fails_with 3 "$SPMD_OPT" "$program" -o /dev/null/out

# What is lost is said.
# shellcheck disable=SC2016
expect 'spmd-opt: standard output: cannot be written: No space left on device' \
  bash -c '"$SPMD_OPT" "$1" 2>&1 > /dev/full' - "$program"
status=0
"$SPMD_OPT" "$program" > /dev/full 2> /dev/null || status=$?
[[ $status == 3 ]] || fail "exit code $status for lost output"

# A file that cannot be written whole is not there, and what was there stays.
echo before > "$folder/half"
cat > "$folder/long.mlir" <<'MLIR'
module @long {
  func.func public @main() -> tensor<2048xi32> {
    %0 = stablehlo.constant dense<"0x
MLIR
printf '%016384d' 0 | sed 's/0\{16\}/0123456789abcdef/g' > "$folder/digits"
{ head -c -1 "$folder/long.mlir"; cat "$folder/digits"; cat <<'MLIR'
"> : tensor<2048xi32>
    return %0 : tensor<2048xi32>
  }
}
MLIR
} > "$folder/whole.mlir"
status=0
(ulimit -f 1; exec "$SPMD_OPT" "$folder/whole.mlir" -o "$folder/half" 2>&1) | cat > "$folder/said" ||
  status=$?
[[ $status == 3 ]] || fail "exit code $status for a file over the limit"
grep -q 'half: cannot be written: File too large' "$folder/said" || fail "$(cat "$folder/said")"
[[ $(cat "$folder/half") == before ]] || fail "a half-written file"
