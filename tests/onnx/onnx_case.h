// ONNX's backend test cases: models with inputs and the outputs that their authors expect.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace spmd::testing {

struct OnnxCase {
  std::string group, name;  // "node", "test_abs"
  std::filesystem::path folder;
};

// The cases of the groups node, pytorch-converted and pytorch-operator, sorted, below
// $SPMD_ONNX_CASES or where Debian's libonnx-testdata has them; none when there is no such folder.
std::vector<OnnxCase> onnx_cases();
// The cases of this repository in the same form, group "own": tests/data/onnx.
std::vector<OnnxCase> own_onnx_cases();

// One set of data of a case, with the program compiled for it.
struct OnnxRun {
  Module module;
  std::vector<Literal> arguments;
  std::vector<Literal> expected;  // results, sequences flattened
  // Inputs that had to be known when the program was compiled, as they decide a shape: constants.
  std::vector<std::string> fixed_inputs;
};

// All sets of data of a case. Throws std::exception when the case cannot be read.
std::vector<OnnxRun> load_onnx_case(const OnnxCase& test_case);

// How far results may be from what is expected: ONNX's own 1e-3 relative and 1e-7 absolute, and the
// last bits of 16-bit floats. `slack` widens both where sums are taken in another order, relative
// to the tensor's largest element. Empty, or where the first difference is.
std::string onnx_difference(const std::vector<Literal>& found, const std::vector<Literal>& expected,
                            double slack = 0);

// Why a case is known not to pass; null for all others.
const char* known_onnx_exception(const std::string& name);
std::vector<std::string> known_onnx_exceptions();

}  // namespace spmd::testing
