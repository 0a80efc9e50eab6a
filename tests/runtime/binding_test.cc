#include "runtime/binding.h"

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

using Names = std::vector<std::string>;

std::string binding_error(const Names& arguments, const Names& tensors) {
  return testing::error_of([&] { bind_names(arguments, tensors, "s.safetensors"); });
}

TEST(Binding, AgreesOnTheLongestSuffix) {
  EXPECT_EQ(bind_names({"result[0]['params'].w", "result[0]['mu'].w", "result[0].count"},
                       {"state.mu.w", "state.count", "state.params.w"}, "s")
                .tensors,
            (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(bind_names({"x", "a.x"}, {"b.x", "b.a.x"}, "s").tensors, (std::vector<int>{0, 1}));
}

TEST(Binding, AnArgumentWithoutATensorStaysUnbound) {
  // "nu.w" must not take the tensor that is "mu.w".
  EXPECT_EQ(bind_names({"opt.mu.w", "opt.nu.w"}, {"opt.mu.w"}, "s").tensors,
            (std::vector<int>{0, -1}));
  EXPECT_EQ(bind_names({"x"}, {"y"}, "s").tensors, std::vector<int>{-1});
}

TEST(Binding, UnnamedArgumentsTakeWhatIsLeftInOrder) {
  EXPECT_EQ(bind_names({"", "b", ""}, {"p", "b", "q"}, "s").tensors, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(bind_names({"", ""}, {"p"}, "s").tensors, (std::vector<int>{-1, -1}));
}

TEST(Binding, NamesOfPlacesAreNone) {
  EXPECT_EQ(bind_names({"result[0]"}, {"w"}, "s").tensors, std::vector<int>{0});
  EXPECT_EQ(bind_names({"result[0]"}, {"w"}, "s").guessed, std::vector<int>{0});
  // A file of final state has them.
  EXPECT_EQ(
      bind_names({"result[0][0]", "result[0][1]"}, {"result[0][1]", "result[0][0]"}, "s").tensors,
      (std::vector<int>{1, 0}));
}

TEST(Binding, UnnamedArgumentsTakeWhatFitsThemAlone) {
  // Types: of the arguments, then of the tensors.
  const auto bind = [](const std::string& arguments, const std::string& tensors) {
    return bind_names(Names(arguments.size()), Names{"p", "q", "r"}, "s",
                      [&](size_t a, size_t t) { return arguments[a] == tensors[t]; });
  };
  EXPECT_EQ(bind("xyz", "zxy").tensors, (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(bind("xyz", "zxy").guessed, std::vector<int>{});
  // Two of one type are in order, beside one that is known.
  EXPECT_EQ(bind("xyy", "yxy").tensors, (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(bind("xyy", "yxy").guessed, (std::vector<int>{1, 2}));
  // What is not there is not made up.
  EXPECT_EQ(bind("xw", "xyz").tensors, (std::vector<int>{0, -1}));
}

TEST(Binding, AmbiguityListsTheCandidates) {
  EXPECT_EQ(binding_error({"result.w"}, {"a.w", "b.w"}),
            "s.safetensors: several tensors may be argument result.w: a.w, b.w\n"
            "  name the tensors so that one of them ends like the argument");
  EXPECT_EQ(binding_error({"a.w", "b.w"}, {"w"}),
            "s.safetensors: tensor w may be several arguments: a.w, b.w\n"
            "  name it so that it ends like one of them only");
}

}  // namespace
}  // namespace spmd
