// Names of a program's arguments and results, as exporters write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spmd {

// The words of a name: what is between anything but letters and digits. "state__params____w__" and
// "result[0]['params'].w" are [state params w] and [result 0 params w].
std::vector<std::string> words_of(std::string_view name);

// The words as a path, without the place of a result: "result[0]['params'].w" is "params/w" for the
// separator "/".
std::string path_of(std::string_view name, std::string_view separator);

// Whether a name says no more than a place among others: "", "result[0]", "[0][1]". Bare arrays and
// tuples have such names.
bool is_place_only(std::string_view name);

}  // namespace spmd
