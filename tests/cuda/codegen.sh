#!/usr/bin/env bash
# The tests of codegen, their plans run on the GPU instead of the CPU: every kind of step against the
# evaluator.
set -uo pipefail
. scripts/gpu.sh || exit 77
SPMD_TEST_DEVICE=cuda "$SPMD_BINARY_DIR/test_codegen" --gtest_brief=1
