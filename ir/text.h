// StableHLO assembly: reader and printer.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// Reads a module in StableHLO text: pretty and generic forms, `sdy` and `mhlo.sharding`
// annotations, locations. `source` names the file in messages and locations. Throws UserError with
// file:line:column; ops that are not in the op table are all listed at once.
Module parse_stablehlo(std::string_view text, const std::string& source);

struct PrintOptions {
  bool locations = false;
  bool elide_large_constants = false;  // for people; cannot be read back
};

// Prints in the same grammar: parse(print(m)) equals m up to ids.
std::string print_stablehlo(const Module& module, const PrintOptions& options = {});
// One op on one line, for messages.
std::string print_op(const Module& module, const Function& fn, OpId op);

}  // namespace spmd
