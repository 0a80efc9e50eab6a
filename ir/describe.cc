#include "ir/describe.h"

#include <fmt/format.h>

namespace spmd {

std::string place_of(const Op& op) {
  if (op.location == nullptr) return std::string(name_of(op.code));
  return fmt::format("{} at {}", name_of(op.code), op.location->to_string());
}

std::string name_of_argument(const Function& fn, size_t index) {
  const std::string& name = fn.argument_info[index].name;
  return name.empty() ? fmt::format("argument {}", index) : name;
}

std::string name_of_result(const Function& fn, size_t index) {
  const std::string& name = fn.result_info[index].name;
  return name.empty() ? fmt::format("result {}", index) : name;
}

}  // namespace spmd
