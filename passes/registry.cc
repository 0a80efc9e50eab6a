#include "passes/registry.h"

#include <algorithm>

#include "passes/pipeline.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = [] {
    std::vector<Pass> distinct;
    CompileOptions options;
    options.kernels = KernelTarget::kCuda;  // which has passes of its own
    for (Pass& pass : compile_pipeline(options)) {
      const bool known = std::any_of(distinct.begin(), distinct.end(),
                                     [&](const Pass& other) { return other.name == pass.name; });
      if (!known) distinct.push_back(std::move(pass));
    }
    return distinct;
  }();
  return passes;
}

const Pass& pass_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Pass& pass : all_passes()) {
    if (pass.name == name) return pass;
    known.push_back(pass.name);
  }
  const auto candidate = nearest(name, known);
  throw UserError("pass", fmt::format("there is no pass '{}'", name),
                  candidate ? fmt::format("did you mean '{}'?", *candidate)
                            : fmt::format("the passes are: {}", fmt::join(known, ", ")));
}

}  // namespace spmd
