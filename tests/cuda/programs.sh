#!/usr/bin/env bash
# The exported programs, with one rank on the GPU, against JAX's numbers.
set -uo pipefail
. scripts/gpu.sh || exit 77
scripts/check_programs.sh --device cuda
