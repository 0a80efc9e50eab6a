# The communicator over real processes: the cases of local_test.cc under mpirun.
set -eu
export SPMD_EXPECT_RANKS
for SPMD_EXPECT_RANKS in 3 4; do
  mpirun -n "$SPMD_EXPECT_RANKS" "$SPMD_BINARY_DIR/test_collectives_comm" \
    --gtest_filter='Mpi.*' --gtest_brief=1
done
