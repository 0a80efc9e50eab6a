# A run that works: its files, its metrics and report, its options.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --state state.safetensors --batches batches.safetensors)

says() { grep -qF -- "$1" "${2:-stdout}" || fail "no \"$1\" in ${2:-stdout}"; }

# --- help fits a screen
run --help
expect_success
[[ $(wc -l < stdout) -le 24 ]] || fail "the help has $(wc -l < stdout) lines"
! grep -qE '.{81}' stdout || fail "the help is wider than 80"
run check --help
[[ $(wc -l < stdout) -le 24 ]] || fail "the help of check is too long"

# --- threads and processes give the same bits
run4 "${good[@]}" --out threads.safetensors --report threads
expect_success
says 'step 5/5'
says 'samples/s'
run_mpi "${good[@]}" --out processes.safetensors --report processes
expect_success
[[ $(grep -c 'step 5/5' stdout) == 1 ]] || fail "not one rank speaks"
cmp threads.safetensors processes.safetensors || fail "other bits under mpirun"
cmp threads/metrics.jsonl processes/metrics.jsonl || fail "other metrics under mpirun"

# --- metrics and report
[[ $(wc -l < threads/metrics.jsonl) == 5 ]] || fail "not a line a step"
# Ones times ones over four: each of 16 outputs is 4, and their squares are 16.
[[ $(head -n 1 threads/metrics.jsonl) == '{"step":0,"loss":256}' ]] || fail "another first loss"
for key in schema version mesh ranks compile_ms peak_memory_bytes bytes_sent_per_step \
  full_rematerializations replicated_flops collectives kind axes count bytes op ms steps step_ms \
  compute_ms comm_ms exposed_ms; do
  says "\"$key\":" threads/report.json
done
says 'all_reduce' threads/report.txt

# --- the final state is an initial state
run "${good[@]}" --mesh data=1 --steps 2 --out two.safetensors
expect_success
run "${good[@]}" --mesh data=1 --steps 1 --out one.safetensors
run model.mlir --mesh data=1 --state one.safetensors --batches batches.safetensors --steps 1 \
  --out again.safetensors
expect_success
cmp two.safetensors again.safetensors || fail "a continued run differs"

# --- a saved Plan runs like its program
run4 "${good[@]}" --save-plan step.plan --out a.safetensors
expect_success
run4 step.plan --state state.safetensors --batches batches.safetensors --out b.safetensors
expect_success
cmp a.safetensors b.safetensors || fail "the saved Plan computes something else"
run step.plan --state state.safetensors --batches batches.safetensors
expect_error 2 'step.plan: the Plan is for 4 ranks, but there is 1' '--ranks 4'
run4 step.plan --mesh data=4
expect_error 2 'step.plan: a compiled Plan keeps its mesh'

# --- configuration
cat > run.yaml <<'YAML'
mesh: {axes: {data: -1}}
train: {steps: 4}
state: state.safetensors
batches: batches.safetensors
log: {progress: off, jsonl: here.jsonl}
YAML
run4 model.mlir --config run.yaml
expect_success
[[ $(wc -l < here.jsonl) == 4 ]] || fail "train.steps is not heard"
run4 model.mlir --config run.yaml --set train.steps=3 --set log.every=1
[[ $(wc -l < here.jsonl) == 3 ]] || fail "--set is not heard"
run4 model.mlir --config run.yaml --set train.steps=3 --steps 2
[[ $(wc -l < here.jsonl) == 2 ]] || fail "a flag does not win"
run model.mlir --config run.yaml --steps 2 --print-config
expect_success
says 'steps: 2'

# --- random numbers for what is missing, the same on any number of ranks
run model.mlir --mesh data=1 --batches batches.safetensors --init random --report random1
expect_success
run4 model.mlir --batches batches.safetensors --init random --report random4
expect_success
# Sums over the ranks may round another way.
paste random1/metrics.jsonl random4/metrics.jsonl | awk -F'[:,}\t]' '
  { a = $4; b = $9; d = a > b ? a - b : b - a; if (d > 1e-5 * (a > 0 ? a : -a)) exit 1 }' ||
  fail "--init random depends on the ranks"

# --- --check
write_tensors expected.safetensors "params.w:F32:[4,2]:$zero" "loss:F32:[5]:$zero"
run4 "${good[@]}" --check expected.safetensors --report checked
expect_error 4 'expected.safetensors: the run gave other numbers'
says 'DIFFERS'
says '"passed": false' checked/report.json
run_mpi "${good[@]}" --check expected.safetensors
expect_error 4 'expected.safetensors: the run gave other numbers'
run4 "${good[@]}" --check threads.safetensors
expect_success
says 'check against threads.safetensors: passed'
write_tensors other.safetensors "params.z:F32:[4,2]:$zero"
run4 "${good[@]}" --check other.safetensors
expect_error 3 'other.safetensors: tensor params.z is neither a metric nor state of the program'
