// Ranks that would all compute the same.
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"

namespace spmd {

// What there is to say of a Plan for several devices that cuts nothing into shards: a fact, and
// what to do on a line of its own. Nothing where devices share the work.
std::optional<std::string> describe_same_work(const plan::Plan& plan);

}  // namespace spmd
