#!/usr/bin/env bash
# Makes .venv with the peers that benchmarks compare with (from PyPI): JAX on CPU. Building, testing
# and running spmd needs none of it.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3 python3-venv" >&2; exit 1; }
[ -x .venv/bin/python ] || python3 -m venv .venv ||
  { echo "python3-venv is missing: apt-get install python3-venv" >&2; exit 1; }
# flatbuffers: what jax.export writes its files with.
.venv/bin/python -c 'import jax, safetensors, flatbuffers' 2>/dev/null ||
  .venv/bin/pip install --quiet jax safetensors numpy flatbuffers
.venv/bin/python -c 'import jax, jaxlib; print("jax", jax.__version__, "jaxlib", jaxlib.__version__)'
