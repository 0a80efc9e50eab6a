#include "ir/analysis/trip_count.h"

#include "gtest/gtest.h"
#include "ir/text.h"

namespace spmd {
namespace {

struct Loop {
  std::string start = "0", step_op = "add", step = "1", compare = "LT", limit = "5", type = "i32";
  bool limit_carried = false, mirrored = false;
};

// The trip count of a loop over one counter.
std::optional<int64_t> count(const Loop& loop) {
  const std::string t = "tensor<" + loop.type + ">";
  const std::string n = loop.limit_carried ? "%l" : "%n";
  const std::string operands = loop.mirrored ? n + ", %i" : "%i, " + n;
  const std::string text =
      "module @m {\n  func.func public @main() -> " + t + " {\n" +
      "    %start = stablehlo.constant dense<" + loop.start + "> : " + t + "\n" +
      "    %bound = stablehlo.constant dense<" + loop.limit + "> : " + t + "\n" +
      "    %0:2 = stablehlo.while(%i = %start, %l = %bound) : " + t + ", " + t + "\n    cond {\n" +
      "      %n = stablehlo.constant dense<" + loop.limit + "> : " + t + "\n" +
      "      %p = stablehlo.compare " + loop.compare + ", " + operands + " : (" + t + ", " + t +
      ") -> tensor<i1>\n      stablehlo.return %p : tensor<i1>\n    } do {\n" +
      "      %s = stablehlo.constant dense<" + loop.step + "> : " + t + "\n" +
      "      %next = stablehlo." + loop.step_op + " %i, %s : " + t + "\n" +
      "      stablehlo.return %next, %l : " + t + ", " + t + "\n    }\n" +
      "    return %0#0 : " + t + "\n  }\n}\n";
  const Module module = parse_stablehlo(text, "test.mlir");
  const Function& fn = module.main();
  std::optional<int64_t> result;
  walk(fn, [&](OpId id) {
    if (fn.op(id).code == OpCode::kWhile) result = trip_count(fn, id);
  });
  return result;
}

TEST(TripCount, OfCountedLoops) {
  EXPECT_EQ(count({}), 5);
  EXPECT_EQ(count({.limit_carried = true}), 5);
  EXPECT_EQ(count({.compare = "GT", .mirrored = true}), 5);
  EXPECT_EQ(count({.step = "2"}), 3);
  EXPECT_EQ(count({.compare = "LE"}), 6);
  EXPECT_EQ(count({.compare = "NE"}), 5);
  EXPECT_EQ(count({.compare = "EQ"}), 0);
  EXPECT_EQ(count({.start = "5", .compare = "EQ"}), 1);
  EXPECT_EQ(count({.start = "9"}), 0);
  EXPECT_EQ(count({.start = "9", .step_op = "subtract", .compare = "GT"}), 4);
  EXPECT_EQ(count({.start = "9", .step = "-2", .compare = "GE"}), 3);
  EXPECT_EQ(count({.limit = "7", .type = "ui8"}), 7);
}

TEST(TripCount, IsUnknownForLoopsThatNeverEndOrWrapAround) {
  EXPECT_EQ(count({.step = "0"}), std::nullopt);
  EXPECT_EQ(count({.step = "-1"}), std::nullopt);
  EXPECT_EQ(count({.step = "2", .compare = "NE"}), std::nullopt);
  EXPECT_EQ(count({.compare = "LE", .limit = "127", .type = "i8"}), std::nullopt);
  EXPECT_EQ(count({.step_op = "multiply"}), std::nullopt);
}

}  // namespace
}  // namespace spmd
