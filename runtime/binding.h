// Which tensor of a file is which argument of the program, by the words of their names.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace spmd {

struct NameBinding {
  std::vector<int> tensors;  // by argument; -1: none
  std::vector<int> guessed;  // arguments that took theirs by position alone
};

// Whether a tensor may be an argument's by type and shape.
using Fits = std::function<bool(size_t argument, size_t tensor)>;

// An argument takes the tensor with which it shares the longest suffix of words
// (support/names.h), unless that tensor shares a longer one with another argument. Arguments whose
// names tell their place only then take what is left: the tensor that fits them and no other such
// argument, and after that, when there are as many, in order. Throws UserError that lists the
// candidates when the longest suffix is shared with several.
NameBinding bind_names(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& tensors, const std::string& source,
                       const Fits& fits = {});

}  // namespace spmd
