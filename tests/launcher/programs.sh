# The exported programs against JAX's numbers: each on its own mesh, and a few others.
scripts/check_programs.sh --quick
