# What examples/export_jax.py exports trains as JAX trains it. Skipped where JAX is not installed
# (scripts/setup_peers.sh).
python=$SPMD_SOURCE_DIR/.venv/bin/python
"$python" -c 'import jax, safetensors' 2> /dev/null || exit 77
. tests/launcher/support/lib.sh

"$python" "$SPMD_SOURCE_DIR/examples/export_jax.py" exported > /dev/null
for format in mlir hlo.pb; do
  run4 "exported/model.$format" --state exported/state.safetensors \
    --batches exported/batches.safetensors --check exported/expected.safetensors
  expect_success
done
run4 exported/model.mlir --config "$SPMD_SOURCE_DIR/examples/tensor_parallel.yaml" \
  --check exported/expected.safetensors
expect_success
grep -q 'data=2,model=2' stdout || fail "another mesh than the configuration's"
