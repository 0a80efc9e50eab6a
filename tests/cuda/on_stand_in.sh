#!/usr/bin/env bash
# The GPU's side of the runtime on stand-ins for the driver and cuBLASLt (tests/cuda/fake): all that
# is ours but code for the GPU itself. Every kind of step against the evaluator, then a program.
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
output=$("${run[@]}" --device cuda --check "$program/expected.safetensors" 2>&1) ||
  fail "digits_mlp gives other numbers"
grep -q 'run on the host' <<< "$output" || fail "no word of the steps that run on the host"
# Ranks that share a GPU.
output=$("${run[@]}" --mesh data=2 --ranks 2 --check "$program/expected.safetensors" 2>&1) ||
  fail "digits_mlp on two ranks gives other numbers"

# --- what can be wrong with a GPU
output=$(SPMD_FAKE_GPU_ARCHITECTURE=75 "${run[@]}" --device cuda 2>&1) && fail "sm_75 is taken"
grep -q 'is of architecture sm_75, but programs need sm_80 or newer' <<< "$output" ||
  fail "an old GPU is not named"
output=$(SPMD_FAKE_GPU_MEMORY=100000 "${run[@]}" --device cuda 2>&1) && fail "runs without memory"
grep -q 'of memory are free, but the program needs' <<< "$output" ||
  fail "the lack of memory is not named"
exit $failed
