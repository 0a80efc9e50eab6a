// Sizes that a program leaves open: jax.export with symbolic dimensions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/import_options.h"

namespace spmd::vhlo {

// How a file calls the dimensions of the arguments, as jax.export does: "b", "2*n", "floordiv(b, 2)
// + 1", "3". Fewer entries than arguments or dimensions: those have no names.
using DimTexts = std::vector<std::vector<std::string>>;

// The value of such a text. Names without a size are added to `missing`, and count as 1. Throws
// UserError, without a place, when it cannot be read or its value is no size.
int64_t evaluate_dim(std::string_view text, const std::map<std::string, int64_t, std::less<>>& dims,
                     std::vector<std::string>& missing);

struct OpenArgument {
  std::string name;  // "x", or "arg0"
  Dims shape;        // kDynamic where it is open
  std::vector<std::string> texts;
};

// Gives every open dimension its size: by the names in its text, by "x[axis]", or by the whole
// shape of "x". Throws UserError, from `source`, that lists what has no size and what was given for
// nothing.
void close_sizes(std::vector<OpenArgument>& arguments, const ImportOptions& options,
                 const std::string& source);

}  // namespace spmd::vhlo
