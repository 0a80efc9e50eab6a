# What a wrong input gets: one message with place, fact and remedy, the same on one rank and on
# four, an exit code of its kind, and nothing left behind.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --state state.safetensors --batches batches.safetensors --out final.safetensors)

# --- programs
: > empty.pb
everywhere 3 'empty.pb: ' -- empty.pb
head -c 5000 "$SPMD_SOURCE_DIR/tests/data/models/digits_mlp/model.hlo.pb" > truncated.pb
everywhere 3 'truncated.pb' -- truncated.pb
head -c 1500 model.mlir > truncated.mlir
everywhere 3 'truncated.mlir' -- truncated.mlir
printf '\x89PNG\r\n\x1a\n0000IHDR' > foreign.png
everywhere 3 'foreign.png' -- foreign.png
everywhere 3 'missing.pb' -- missing.pb
sed 's/stablehlo.subtract %0/stablehlo.frobnicate %0/; s/stablehlo.multiply %1/stablehlo.twist %1/' \
  model.mlir > unsupported.mlir
everywhere 3 'stablehlo.frobnicate' 'stablehlo.twist' 'unsupported.mlir:' -- unsupported.mlir

# --- mesh, configuration, rules
printf 'mesh: {axes: {data: 1}}\ntrian: {steps: 3}\n' > unknown_key.yaml
everywhere 2 'unknown_key.yaml:2' '"trian"' 'train' -- "${good[@]}" --config unknown_key.yaml
cat > no_match.yaml <<'YAML'
sharding:
  rules:
    - {match: 'attention/kernel', spec: [data]}
    - {match: '.*', spec: [], default: true}
YAML
everywhere 2 'no_match.yaml:3' 'attention/kernel' -- "${good[@]}" --config no_match.yaml
everywhere 2 'missing.yaml' -- "${good[@]}" --config missing.yaml
everywhere 2 'unknown option --sate' 'did you mean --state?' -- model.mlir --sate x
everywhere 2 '--set train: expected KEY=VALUE' -- "${good[@]}" --set train
# The rank that speaks is not stopped by the end of the others, however late it starts.
capture mpirun -n 2 bash -c '[[ ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} != 0 ]] || sleep 1
exec "$SPMD_RUN" model.mlir --sate x'
expect_error 2 'unknown option --sate'

# --- state and batches
write_tensors lacks.safetensors "other:F32:[4,2]:$one"
everywhere 3 'lacks.safetensors: ' "['params']['w'] f32[4,2]" 'other' -- \
  "${good[@]}" --state lacks.safetensors
write_tensors shape.safetensors "params.w:F32:[4,3]:$one"
everywhere 3 'shape.safetensors: tensor params.w' 'f32[4,3]' 'f32[4,2]' -- \
  "${good[@]}" --state shape.safetensors
write_tensors dtype.safetensors "params.w:I32:[4,2]:$one"
everywhere 3 'dtype.safetensors: tensor params.w' 'i32[4,2]' 'f32[4,2]' -- \
  "${good[@]}" --state dtype.safetensors
everywhere 3 'batches.safetensors' '5 batches' '6 steps' -- "${good[@]}" --steps 6
head -c 100 state.safetensors > cut.safetensors
everywhere 3 'cut.safetensors' -- "${good[@]}" --state cut.safetensors
everywhere 3 '--state: ' "['params']['w'] f32[4,2]" '--init random' -- \
  model.mlir --batches batches.safetensors

# --- outputs
everywhere 3 'state.safetensors/report' -- "${good[@]}" --report state.safetensors/report
everywhere 3 'nowhere/final.safetensors' -- "${good[@]}" --out nowhere/final.safetensors
