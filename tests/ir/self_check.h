// Programs that check themselves, as StableHLO's test suite writes them.
#pragma once

#include "ir/evaluator.h"
#include "support/check_results.h"
#include "tests/ir/text_testing.h"

namespace spmd::testing {

// Evaluates main, which takes nothing, and returns the number of wrong elements of every check.
inline std::vector<int64_t> check_counts(const Module& module) {
  const std::vector<Literal> results = evaluate(module, {});
  const Function& main = module.main();
  std::vector<int64_t> counts;
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_check_result(main.result_info[i].name)) counts.push_back(results[i].as_int(0));
  }
  return counts;
}

// `body` computes and checks; every check must hold, and there is at least one. The module goes
// through text and proto unchanged.
inline void expect_checks_hold(const std::string& body, const std::string& more = "") {
  SCOPED_TRACE(body);
  try {
    const Module module = parse("module @m {\n  func.func @main() {\n" + body +
                                "\n    return\n  }\n" + more + "\n}\n");
    const std::vector<int64_t> counts = check_counts(module);
    EXPECT_FALSE(counts.empty());
    for (size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(counts[i], 0) << module.main().result_info[i].name;
    }
    expect_round_trips(module);
  } catch (const UserError& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace spmd::testing
