#include "passes/padding_remark.h"

#include <fmt/format.h>

#include "ir/describe.h"
#include "passes/analysis/flops.h"

namespace spmd {
namespace {

constexpr double kWorthSaying = 1.1;

// "dimension 0 of x is padded from 64 to 96", of the one that grows most; empty: none does.
std::string most_padded(const Function& fn) {
  std::string text;
  double most = 1;
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const Dims& shape = fn.type(fn.arguments()[i]).shape;
    const Dims before = fn.argument_info[i].global_shape.value_or(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (before[d] == 0) continue;
      const double growth = static_cast<double>(shape[d]) / static_cast<double>(before[d]);
      if (growth <= most) continue;
      most = growth;
      text = fmt::format("dimension {} of {} is padded from {} to {}", d, name_of_argument(fn, i),
                         before[d], shape[d]);
    }
  }
  return text;
}

}  // namespace

std::optional<Remark> remark_on_padding(const Module& padded, double flops_before) {
  const double growth = flops_before > 0 ? contraction_flops(padded) / flops_before : 1;
  if (growth <= kWorthSaying) return std::nullopt;
  const std::string most = most_padded(padded.main());
  return Remark{
      "pad_uneven", padded.source,
      fmt::format("padding multiplies the program's work by {:.3g}: {}; shards that divide "
                  "the sizes need none",
                  growth, most.empty() ? "values inside are padded" : most)};
}

}  // namespace spmd
