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

# Ranks that were started differently: nobody waits, and the message says who has what.
capture mpirun -n 1 "$SPMD_RUN" "${good[@]}" --steps 3 : -n 3 "$SPMD_RUN" "${good[@]}" --steps 4
expect_error 2 '--steps: 3 on rank 0, 4 on rank 1' 'ranks 1, 2, 3 differ from rank 0' \
  'the same command line'
capture mpirun -n 3 "$SPMD_RUN" "${good[@]}" : -n 1 "$SPMD_RUN" "${good[@]}" --device cpu
expect_error 2 '--device: none on rank 0, cpu on rank 3' 'rank 3 differs from rank 0'
sed 's/stablehlo.subtract %0/stablehlo.add %0/' model.mlir > sum.mlir
capture mpirun -n 3 "$SPMD_RUN" "${good[@]}" : -n 1 "$SPMD_RUN" sum.mlir "${good[@]:1}"
expect_error 2 'MODEL: model.mlir on rank 0, sum.mlir on rank 3'
capture mpirun -n 3 "$SPMD_RUN" "${good[@]}" : -n 1 "$SPMD_RUN" "${good[@]}" --stpes 3
expect_error 2 'rank 3: unknown option --stpes' 'did you mean --steps?'
capture mpirun -n 1 "$SPMD_RUN" "${good[@]}" --stpes 3 : -n 3 "$SPMD_RUN" "${good[@]}"
expect_error 2 'spmd-run: unknown option --stpes'

# Only rank 0 reads the program: other ranks need not have it. What they have under its name is it.
cp state.safetensors batches.safetensors elsewhere
run_mpi "${good[@]}" --out one.safetensors
expect_success
partly=(mpirun -n 1 "$SPMD_RUN" "${good[@]}" --out other.safetensors :
  -n 3 -wdir "$PWD/elsewhere" "$SPMD_RUN" "${good[@]}" --out other.safetensors)
capture "${partly[@]}"
expect_success
cmp one.safetensors other.safetensors || fail "other ranks computed something else"
cp sum.mlir elsewhere/model.mlir
capture "${partly[@]}"
expect_error 2 'model.mlir: is another file on rank 1 than on rank 0' 'give all ranks one file'

# Threads of a rank change no number of products this small, and a rank that its launcher binds to
# one core has its share of them all.
run "${good[@]}" --mesh data=1 --threads 3 --out threads.safetensors
expect_success
run "${good[@]}" --mesh data=1 --threads 1 --out thread.safetensors
expect_success
cmp thread.safetensors threads.safetensors || fail "threads compute something else"
if (($(env -u OMP_NUM_THREADS nproc) > 1)) && mpirun -n 1 --bind-to core true 2> /dev/null; then
  capture mpirun -n 1 --bind-to core "$SPMD_RUN" "${good[@]}" --mesh data=1
  expect_success
  grep -q 'note: ranks were bound to 1 core each; they may use' stdout || fail "bound ranks are not freed"
  capture mpirun -n 1 --bind-to core "$SPMD_RUN" "${good[@]}" --mesh data=1 --threads 1
  expect_success
  ! grep -q 'were bound' stdout || fail "a rank left the core it was to stay on"
fi

# A machine that starts no further thread: stacks of 16 TB each leave room for less than sixteen.
limited() (
  ulimit -s $((16 << 30)) && exec "$SPMD_RUN" "$@"
)
if (ulimit -s $((16 << 30))) 2> /dev/null; then
  export -f limited
  capture bash -c 'limited "$@"' limited "${good[@]}" --mesh data=64 --ranks 64
  expect_error 5 ': cannot start a thread: Resource temporarily unavailable' 'use fewer ranks' \
    'ulimit -u'
fi

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
