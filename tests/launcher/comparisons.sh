# What --check and --tolerances say of tensors that are not compared, or not there.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --mesh data=1 --state state.safetensors --batches batches.safetensors)
says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

run "${good[@]}" --out final.st --report whole
expect_success
write_tensors expected.safetensors "params.w:F32:[4,2]:$one"
printf '{"state": 1e60}' > loose.json
run "${good[@]}" --check expected.safetensors --tolerances loose.json --report report
expect_success
says '  not compared, as nothing is expected of them: loss'
says 'check against expected.safetensors: passed (1 of 2 not compared)'
says '"not_compared": [' report/report.json
write_tensors losses.safetensors "loss:F32:[5]:$one"
printf '{"metrics": 1e60}' > metrics.json
run "${good[@]}" --check losses.safetensors --tolerances metrics.json
expect_success
says "not compared, as nothing is expected of them: result[0]['params']['w']"
says 'passed (1 of 2 not compared)'
run "${good[@]}" --check final.st
expect_success
says 'check against final.st: passed (1 of 2 not compared)'

# --- tolerances of tensors that are not there
printf '{"tensors": {"params.v": 1e60}}' > misspelt.json
run "${good[@]}" --check expected.safetensors --tolerances misspelt.json
expect_error 3 'misspelt.json: "tensors": expected.safetensors has no state tensor "params.v"' \
  'did you mean "params.w"?'
printf '{"tensors": {"layers/0/bias": 1}}' > other.json
run "${good[@]}" --check expected.safetensors --tolerances other.json
expect_error 3 'has no state tensor "layers/0/bias"' 'it has params.w'
run "${good[@]}" --check losses.safetensors --tolerances other.json
expect_error 3 'losses.safetensors has no state tensor' 'leave "tensors" out'
printf '{"tensors": {"params.w": 1e60}}' > right.json
run "${good[@]}" --check expected.safetensors --tolerances right.json
expect_success
