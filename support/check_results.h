// Checks that a program makes of itself: each is a result of main, a tensor<i32> with the number of
// elements that are not as expected, named "check.expect_eq at file:line".
#pragma once

#include <string>
#include <string_view>

namespace spmd {

inline constexpr std::string_view kCheckPrefix = "check.";

inline bool is_check_result(std::string_view name) { return name.starts_with(kCheckPrefix); }

}  // namespace spmd
