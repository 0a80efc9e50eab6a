// What a program's file may hold beside the program: the values of one run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"

namespace spmd {

struct RecordedRun {
  std::vector<Literal> arguments;               // of main(), tuples taken apart
  std::optional<std::vector<Literal>> results;  // nullopt: the file has none
};

// The arguments and the result of an HloSnapshot; the arguments of an HloUnoptimizedSnapshot of one
// partition; nullopt for other files, and for snapshots without arguments. The bytes may be
// gzipped. Throws UserError for values that are damaged.
std::optional<RecordedRun> read_recorded_run(std::string_view bytes, const std::string& source);

}  // namespace spmd
