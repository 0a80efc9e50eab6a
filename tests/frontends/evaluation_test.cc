// The two files of a program compute the same step.
#include <gtest/gtest.h>

#include "frontends/frontend.h"
#include "ir/evaluator.h"
#include "tests/support/exported_program.h"

namespace spmd {
namespace {

class Evaluation : public ::testing::TestWithParam<std::string> {};

TEST_P(Evaluation, OfBothFilesIsTheSame) {
  const testing::ExportedProgram program = testing::load_exported_program(GetParam());
  std::vector<Literal> arguments = program.initial_arguments();
  program.set_batch(arguments, 0);
  const Module proto = import_file(program.folder + "/model.hlo.pb");
  const Module text = import_file(program.folder + "/model.mlir");
  const std::vector<Literal> a = evaluate(proto, arguments);
  const std::vector<Literal> b = evaluate(text, arguments);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const testing::Deviation deviation = testing::deviation(a[i], b[i]);
    EXPECT_LE(deviation.difference, 1e-6 * deviation.norm) << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Evaluation, ::testing::ValuesIn(testing::exported_program_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace spmd
