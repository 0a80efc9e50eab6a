// Every list of mesh axes that shardings and attributes hold.
#pragma once

#include <variant>

#include "ir/attrs.h"

namespace spmd {

// visit(list) for each list of a sharding; `S` is Sharding or const Sharding.
template <typename S, typename Fn>
void visit_axes_of_sharding(S& sharding, Fn&& visit) {
  for (auto& dim : sharding.dims) visit(dim.axes);
  visit(sharding.replicated);
  visit(sharding.unreduced);
  visit(sharding.manual);
}

// The same of an op's attributes; `A` is Attrs or const Attrs.
template <typename A, typename Fn>
void visit_axes_of_attrs(A& attrs, Fn&& visit) {
  if (auto* manual = std::get_if<ManualComputationAttrs>(&attrs)) {
    for (auto& sharding : manual->in_shardings) visit_axes_of_sharding(sharding, visit);
    for (auto& sharding : manual->out_shardings) visit_axes_of_sharding(sharding, visit);
    visit(manual->manual_axes);
  } else if (auto* reshard = std::get_if<ReshardAttrs>(&attrs)) {
    visit_axes_of_sharding(reshard->sharding, visit);
  } else if (auto* gather = std::get_if<AllGatherAttrs>(&attrs)) {
    visit(gather->groups.axes);
  } else if (auto* reduce = std::get_if<AllReduceAttrs>(&attrs)) {
    visit(reduce->groups.axes);
  } else if (auto* scatter = std::get_if<ReduceScatterAttrs>(&attrs)) {
    visit(scatter->groups.axes);
  } else if (auto* all = std::get_if<AllToAllAttrs>(&attrs)) {
    visit(all->groups.axes);
  } else if (auto* permute = std::get_if<CollectivePermuteAttrs>(&attrs)) {
    visit(permute->axes);
  } else if (auto* index = std::get_if<AxisIndexAttrs>(&attrs)) {
    visit(index->axes);
  }
}

}  // namespace spmd
