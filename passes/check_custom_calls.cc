#include "passes/check_custom_calls.h"

#include <map>

#include "ir/custom_call_remedies.h"
#include "ir/describe.h"
#include "support/error.h"

namespace spmd {
namespace {

struct CustomCallUse {
  int64_t count = 0;
  std::string first;  // its place
};

void refuse_custom_calls(const Module& module) {
  std::map<std::string, CustomCallUse> targets;
  walk(module.main(), [&](OpId id) {
    const Op& op = module.main().op(id);
    if (op.code != OpCode::kCustomCall) return;
    const auto& attrs = op.as<CustomCallAttrs>();
    if (attrs.target == "Sharding") return;
    CustomCallUse& calls = targets[attrs.target];
    if (calls.count++ == 0)
      calls.first = op.location ? op.location->to_string() : "a place unknown";
  });
  if (targets.empty()) return;
  std::string fact =
      fmt::format("{} of custom calls for code outside of the program:",
                  targets.size() == 1 ? "1 kind" : fmt::format("{} kinds", targets.size()));
  std::vector<std::string> names;
  for (const auto& [target, calls] : targets) {
    fact += fmt::format("\n  custom call to \"{}\" ({}x, first at {})", target, calls.count,
                        calls.first);
    names.push_back(target);
  }
  throw UserError(module.source, fact, custom_call_remedies(names));
}

}  // namespace

Pass check_custom_calls_pass() {
  return {"check_custom_calls", "refuse calls of code that is not in the program",
          [](Module& module, PassContext&) {
            refuse_custom_calls(module);
            return false;
          }};
}

}  // namespace spmd
