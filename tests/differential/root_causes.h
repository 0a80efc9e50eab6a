// Why partitioners have been wrong, and what reaches each cause.
#pragma once

#include <string>
#include <vector>

#include "tests/differential/coverage.h"

namespace spmd::testing {

// A root cause of wrong results that partitioners are known for, with the cells of the coverage
// table in which it would show.
struct RootCause {
  const char* name;
  std::vector<const char*> ops;  // without the dialect's name
  std::vector<Circumstance> circumstances;
};

const std::vector<RootCause>& root_causes();

// "a partial value used as if it were whole: 7" for each whose cells were reached less often, all
// together.
std::vector<std::string> causes_reached_less_than(int64_t least, const Coverage& coverage);

}  // namespace spmd::testing
