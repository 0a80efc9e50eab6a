#include "launcher/run_notes.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

using Notes = std::vector<std::string>;

TEST(RunNotes, ReadingsAreSaidAndTheFirstOfOtherRemarks) {
  EXPECT_EQ(notes_of_remarks({}), Notes());
  EXPECT_EQ(
      notes_of_remarks({{"localize", "stablehlo.sort at a.mlir:3", "is replicated"},
                        {kImport, "a.mlir:2:4", "is read as replicated"}}),
      (Notes{"a.mlir:2:4: is read as replicated", "stablehlo.sort at a.mlir:3: is replicated"}));
  EXPECT_EQ(
      notes_of_remarks({{"localize", "a", "b"}, {"localize", "c", "d"}, {"localize", "e", "f"}}),
      (Notes{"a: b; 2 more remarks: spmd-run check lists them"}));
}

TEST(RunNotes, MetricsWithoutNames) {
  EXPECT_FALSE(note_of_unnamed("a.pb", {"loss"}));
  const auto note = note_of_unnamed("a.pb", {"loss", "result[14]", "result[15]"});
  ASSERT_TRUE(note);
  EXPECT_EQ(note->find("a.pb: names these metrics by their places only: result[14], result[15];"),
            0u);
}

TEST(RunNotes, CoresThatALauncherHadTaken) {
  EXPECT_FALSE(note_of_cores({.threads = 8}));
  EXPECT_EQ(note_of_cores({.threads = 2, .cpus = {0, 1, 2, 3}, .bound = 1}),
            "ranks were bound to 1 core each; they may use 4 now and compute with 2 threads each "
            "(--threads N leaves them where they are bound)");
}

}  // namespace
}  // namespace spmd
