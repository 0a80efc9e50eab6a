// State that a program keeps to itself: its results hold new values, but replace no argument, so
// that every step begins where the first one did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace spmd {

// Whether a result replaces an argument.
bool keeps_state(const plan::Plan& plan);

struct StatePair {
  int argument = 0, result = 0;
};

// Arguments that no result replaces, each with a result that may be its next value: of its type,
// and with a name that ends as its name does. Where neither has a name, the first one of its type
// that is no scalar. Arguments in `advancing` get a value of their own each step, and are none.
std::vector<StatePair> missing_state(const plan::Plan& plan,
                                     const std::vector<int>& advancing = {});

// What to say of them, with what to do in a second line; nothing when there are none and either
// some argument is replaced or there are no `steps` after the first.
std::optional<std::string> describe_missing_state(const plan::Plan& plan,
                                                  const std::vector<StatePair>& missing,
                                                  int64_t steps);

}  // namespace spmd
