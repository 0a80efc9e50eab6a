#include "collectives/comm/local.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "collectives/comm/mpi_communicator.h"
#include "support/error.h"
#include "tests/collectives/comm/collective_cases.h"

namespace spmd::comm {
namespace {

using std::chrono::milliseconds;

class LocalRanks : public ::testing::TestWithParam<int> {};

TEST_P(LocalRanks, CollectivesGiveWhatTheyShould) {
  run_local_ranks(GetParam(), {}, [](Communicator& c) {
    const std::string wrong = check_collectives(c);
    if (!wrong.empty()) throw UserError("test", wrong);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, LocalRanks, ::testing::Values(1, 2, 3, 4, 5, 8));

TEST(Local, FirstFailureEndsAllRanks) {
  std::atomic<int> ended{0};
  try {
    run_local_ranks(4, {}, [&](Communicator& c) {
      if (c.rank() == 2) throw UserError("state.safetensors", "truncated");
      try {
        c.barrier(c.world(), "loss");
      } catch (const Aborted&) {
        ++ended;
        throw;
      }
    });
    FAIL() << "did not throw";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "state.safetensors: truncated");
  }
  EXPECT_EQ(ended, 3);
}

TEST(Local, WatchdogNamesRankCollectiveOpAndWhoIsMissing) {
  try {
    run_local_ranks(2, {.timeout = milliseconds(50)}, [&](Communicator& c) {
      if (c.rank() == 1) {
        std::this_thread::sleep_for(milliseconds(200));
        return;
      }
      float value = 1;
      c.all_reduce(c.world(), &value, &value, 1, Element::kF32, Reduction::kSum, "loss (a.py:3)");
    });
    FAIL() << "did not throw";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("rank 0: waited 0.05 s in all_reduce of loss (a.py:3) for rank 1"),
              std::string::npos)
        << error.what();
  }
}

TEST(Local, WatchdogCanBeSetLater) {
  try {
    run_local_ranks(2, {}, [&](Communicator& c) {
      EXPECT_EQ(c.timeout(), Options().timeout);
      c.barrier(c.world(), "start");
      c.set_timeout(milliseconds(50));
      if (c.rank() == 1) {
        std::this_thread::sleep_for(milliseconds(200));
        return;
      }
      c.barrier(c.world(), "a step");
    });
    FAIL() << "did not throw";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("waited 0.05 s in barrier of a step for rank 1"),
              std::string::npos)
        << error.what();
  }
}

// Under mpirun (see mpi.sh) this process is one of several; without it, the only one.
TEST(Mpi, CollectivesGiveWhatTheyShouldAndTheSameBitsAsThreads) {
  static std::unique_ptr<Communicator> mpi = make_mpi();
  EXPECT_EQ(check_collectives(*mpi), "");
  const uint64_t fingerprint = reduction_fingerprint(*mpi);
  run_local_ranks(mpi->size(), {}, [&](Communicator& local) {
    if (reduction_fingerprint(local) != fingerprint) throw UserError("test", "bits differ");
  });
  if (const char* expected = std::getenv("SPMD_EXPECT_RANKS")) {
    EXPECT_EQ(mpi->size(), std::atoi(expected));
  }
  mpi.reset();
}

}  // namespace
}  // namespace spmd::comm

// MPI unloads its plug-ins before leaks are looked for: scripts/lsan.supp knows what they keep by
// the libraries that called them, which only whole stacks show.
extern "C" const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
