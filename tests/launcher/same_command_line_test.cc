// Ranks that were started with different command lines.
#include "launcher/same_command_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "collectives/comm/local.h"
#include "launcher/agreement.h"

namespace spmd {
namespace {

using Words = std::vector<std::string>;

// What ranks with these command lines end with; all of them with the same. Empty: they go on.
std::string outcome_of(const std::vector<Words>& lines) {
  std::vector<std::string> messages(lines.size());
  comm::run_local_ranks(static_cast<int>(lines.size()), {}, [&](comm::Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    std::vector<const char*> words = {"spmd-run"};
    for (const std::string& word : lines[rank]) words.push_back(word.c_str());
    try {
      require_same_command_line(communicator,
                                parse_command_line(static_cast<int>(words.size()), words.data()));
    } catch (const Failed& failed) {
      EXPECT_EQ(failed.exit_code(), kUsageError);
      messages[rank] = failed.what();
    }
  });
  for (const std::string& message : messages) EXPECT_EQ(message, messages[0]);
  return messages[0];
}

TEST(SameCommandLine, TheSameOptionsInAnyOrder) {
  EXPECT_EQ(outcome_of({{"m", "--steps", "3", "--mesh", "a=2"},
                        {"--mesh=a=2", "m", "--steps=3"},
                        {"m", "--steps", "9", "--steps", "3", "--mesh", "a=2", "--verbose"}}),
            "");
}

TEST(SameCommandLine, OtherOptions) {
  EXPECT_EQ(outcome_of({{"m", "--steps", "3"}, {"m", "--steps", "3"}, {"m", "--steps", "4"}}),
            "--steps: 3 on rank 0, 4 on rank 2\n"
            "  rank 2 differs from rank 0: give all ranks the same command line");
  EXPECT_EQ(outcome_of({{"m"}, {"m", "--init", "random"}, {"m", "--check", "e"}}),
            "--init: none on rank 0, random on rank 1\n"
            "  ranks 1, 2 differ from rank 0: give all ranks the same command line");
  EXPECT_EQ(outcome_of({{"m", "--set", "a=1", "--set", "b=2"}, {"m", "--set", "b=2"}}),
            "--set: a=1 b=2 on rank 0, b=2 on rank 1\n"
            "  rank 1 differs from rank 0: give all ranks the same command line");
  std::vector<Words> many(12, Words{"m", "--ranks", "2"});
  many[0] = {"m"};
  EXPECT_EQ(outcome_of(many),
            "--ranks: none on rank 0, 2 on rank 1\n"
            "  ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more differ from rank 0: give all ranks the same "
            "command line");
}

TEST(SameCommandLine, AMistakeOfOneRank) {
  EXPECT_EQ(outcome_of({{"m"}, {"m"}, {"m", "--stpes", "3"}}),
            "rank 2: unknown option --stpes\n  did you mean --steps?\n  see spmd-run --help");
  EXPECT_EQ(outcome_of({{"m", "--device", "tpu"}, {"m"}}).find("--device: found \"tpu\""), 0U);
  // All end alike, and say it themselves.
  EXPECT_EQ(outcome_of({{"m", "--stpes", "3"}, {"m", "--stpes", "3"}}), "");
}

class SameProgram : public ::testing::Test {
 protected:
  ~SameProgram() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("spmd_same_program_" + std::to_string(::getpid()));
};

TEST_F(SameProgram, IsTheFileAndNotItsName) {
  const std::string a = file("a/m", "one"), b = file("b/m", "one"), c = file("c/m", "two");
  EXPECT_EQ(outcome_of({{a}, {b}}), "");
  EXPECT_EQ(outcome_of({{a}, {b}, {c}}),
            "MODEL: " + a + " on rank 0, " + c +
                " on rank 2\n  rank 2 differs from rank 0: give all ranks the same command line");
  // A rank that has no such file is given the program by rank 0.
  EXPECT_EQ(outcome_of({{"missing"}, {"missing"}}), "");
  EXPECT_EQ(outcome_of({{a}, {"missing"}}),
            "MODEL: " + a +
                " on rank 0, missing on rank 1\n"
                "  rank 1 differs from rank 0: give all ranks the same command line");
}

// Files too large to be read whole at the start differ in what is read of them.
TEST_F(SameProgram, LargeFiles) {
  const std::string a = file("a", ""), b = file("b", "");
  constexpr std::uintmax_t kSize = (20 << 20) + 77;
  for (const std::string& path : {a, b}) std::filesystem::resize_file(path, kSize);
  EXPECT_EQ(outcome_of({{a}, {b}}), "");
  std::filesystem::resize_file(b, kSize + 1);
  EXPECT_NE(outcome_of({{a}, {b}}), "");
  std::filesystem::resize_file(b, kSize - 1);
  std::ofstream(b, std::ios::app) << 'x';
  EXPECT_NE(outcome_of({{a}, {b}}), "");
}

}  // namespace
}  // namespace spmd
