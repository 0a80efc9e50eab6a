// Where the bytes of an output go.
#pragma once

#include <string>

namespace spmd {

struct OutputPath {
  // The file itself, at the end of all symbolic links.
  std::string target;
  // A device, a pipe or another thing that is no regular file: it is written where it is, since a
  // file that is moved there would replace it.
  bool in_place = false;
};

// Follows symbolic links, those that lead to nothing yet too. Throws UserError when they never end.
OutputPath resolve_output(const std::string& path);

}  // namespace spmd
