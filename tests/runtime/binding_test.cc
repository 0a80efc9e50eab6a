#include "runtime/binding.h"

#include <gtest/gtest.h>

#include "support/error.h"

namespace spmd {
namespace {

using Names = std::vector<std::string>;

std::string error_of(const Names& arguments, const Names& tensors) {
  try {
    bind_names(arguments, tensors, "s.safetensors");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Binding, Words) {
  EXPECT_EQ(words_of("state__params____w__"), (Names{"state", "params", "w"}));
  EXPECT_EQ(words_of("result[0]['params'].w"), (Names{"result", "0", "params", "w"}));
  EXPECT_EQ(words_of("..."), Names{});
}

TEST(Binding, AgreesOnTheLongestSuffix) {
  EXPECT_EQ(bind_names({"result[0]['params'].w", "result[0]['mu'].w", "result[0].count"},
                       {"state.mu.w", "state.count", "state.params.w"}, "s"),
            (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(bind_names({"x", "a.x"}, {"b.x", "b.a.x"}, "s"), (std::vector<int>{0, 1}));
}

TEST(Binding, AnArgumentWithoutATensorStaysUnbound) {
  // "nu.w" must not take the tensor that is "mu.w".
  EXPECT_EQ(bind_names({"opt.mu.w", "opt.nu.w"}, {"opt.mu.w"}, "s"), (std::vector<int>{0, -1}));
  EXPECT_EQ(bind_names({"x"}, {"y"}, "s"), std::vector<int>{-1});
}

TEST(Binding, UnnamedArgumentsTakeWhatIsLeftInOrder) {
  EXPECT_EQ(bind_names({"", "b", ""}, {"p", "b", "q"}, "s"), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(bind_names({"", ""}, {"p"}, "s"), (std::vector<int>{-1, -1}));
}

TEST(Binding, AmbiguityListsTheCandidates) {
  EXPECT_EQ(error_of({"result.w"}, {"a.w", "b.w"}),
            "s.safetensors: several tensors may be argument result.w: a.w, b.w\n"
            "  name the tensors so that one of them ends like the argument");
  EXPECT_EQ(error_of({"a.w", "b.w"}, {"w"}),
            "s.safetensors: tensor w may be several arguments: a.w, b.w\n"
            "  name it so that it ends like one of them only");
}

}  // namespace
}  // namespace spmd
