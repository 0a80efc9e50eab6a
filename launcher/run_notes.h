// What a run says of its program before the first step, in lines to print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/job.h"
#include "runtime/device/cpu_share.h"

namespace spmd {

// How the program was read, and the first thing worth knowing of how it was partitioned; how many
// more there are.
std::vector<std::string> notes_of_remarks(const std::vector<Remark>& remarks);

// Of metrics that have no names; nothing where all do.
std::optional<std::string> note_of_unnamed(const std::string& source,
                                           const std::vector<std::string>& metrics);

// Where a launcher had bound the rank to few cores, and it no longer is.
std::optional<std::string> note_of_cores(const CpuShare& share);

}  // namespace spmd
