# How many ranks there are, who says so, and what happens when one of them fails.
. tests/launcher/support/lib.sh
write_files
good=(model.mlir --state state.safetensors --batches batches.safetensors)

run "${good[@]}"
expect_error 2 'the mesh data=4 needs 4 ranks, but there is 1' 'without mpirun' 'mpirun -n 4' \
  '--ranks 4' '--mesh data=1'
run "${good[@]}" --ranks 2
expect_error 2 'the mesh data=4 needs 4 ranks, but there are 2' '--mesh data=2'
run4 "${good[@]}" --mesh data=8
expect_error 2 '--mesh: the mesh data=8 needs 8 ranks, but there are 4'
capture mpirun -n 2 "$SPMD_RUN" "${good[@]}"
expect_error 2 'the mesh data=4 needs 4 ranks, but there are 2' 'mpirun -n 4'
run_mpi "${good[@]}" --ranks 2
expect_error 2 '--ranks: 2 ranks, but mpirun started 4'
RANK=0 WORLD_SIZE=4 TORCHELASTIC_RUN_ID=none run "${good[@]}"
expect_error 2 'torchrun started 4 processes' 'mpirun -n 4'

# A file that only rank 0 can see: reported once, with a rank.
mkdir elsewhere
capture mpirun -n 1 "$SPMD_RUN" "${good[@]}" : -n 3 -wdir "$PWD/elsewhere" "$SPMD_RUN" "${good[@]}"
expect_error 3 'rank 1: state.safetensors'

# Only rank 0 reads the program: what other ranks have under its name does not count.
cp state.safetensors batches.safetensors elsewhere
sed 's/stablehlo.subtract %0/stablehlo.add %0/' model.mlir > elsewhere/model.mlir
run_mpi "${good[@]}" --out one.safetensors
expect_success
capture mpirun -n 1 "$SPMD_RUN" "${good[@]}" --out other.safetensors : \
  -n 3 -wdir "$PWD/elsewhere" "$SPMD_RUN" "${good[@]}" --out other.safetensors
expect_success
cmp one.safetensors other.safetensors || fail "rank 1 ran a program of its own"

# A rank that dies takes the others with it.
write_zeros long.safetensors 1000000 "x:[1000000,8,4]:128" "y:[1000000,8,2]:64"
timeout 100 mpirun -n 4 "$SPMD_RUN" model.mlir --state state.safetensors --report report \
  --batches long.safetensors --out final.safetensors > stdout 2> stderr < /dev/null &
mpirun=$!
for ((i = 0; i < 300; i++)); do
  [[ -s report/metrics.jsonl ]] && break
  sleep 0.1
done
[[ -s report/metrics.jsonl ]] || fail "the run did not start"
victim=$(pgrep -f "^$SPMD_RUN model.mlir --state state.safetensors --report report" | tail -n 1)
kill -9 "$victim"
status=0
wait "$mpirun" || status=$?
[[ $status != 0 && $status != 124 ]] || fail "exit code $status after a rank was killed"
[[ ! -e final.safetensors ]] || fail "a final state was written"
[[ $(tail -c 1 report/metrics.jsonl) == "" ]] || fail "a half-written line of metrics"
