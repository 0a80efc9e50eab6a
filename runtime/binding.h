// Which tensor of a file is which argument of the program, by the words of their names.
#pragma once

#include <string>
#include <vector>

namespace spmd {

// The words of a name: what is between anything but letters and digits. "state__params____w__" and
// "result[0]['params'].w" are [state params w] and [result 0 params w].
std::vector<std::string> words_of(const std::string& name);

// For each argument, the index of its tensor or -1. An argument takes the tensor with which it
// shares the longest suffix of words, unless that tensor shares a longer one with another argument.
// Arguments without a name ("") then take the tensors that are left, in order, when there are as
// many. Throws UserError that lists the candidates when the longest suffix is shared with several.
std::vector<int> bind_names(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& tensors, const std::string& source);

}  // namespace spmd
