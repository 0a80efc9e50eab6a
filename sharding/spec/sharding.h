// Sharding: how one tensor is distributed over a mesh.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharding/spec/axis.h"

namespace spmd {

enum class ReductionKind : uint8_t { kSum, kMax, kMin, kProduct, kAnd, kOr };

struct DimSharding {
  AxisList axes;                // major to minor
  bool open = false;            // propagation may add further axes
  std::optional<int> priority;  // user priority, 0 first
  bool operator==(const DimSharding&) const = default;
};

// One entry per dimension. An axis occurs at most once among `dims`, `replicated`, `unreduced` and
// `manual`; an axis that occurs nowhere is implicitly replicated. `unreduced` axes hold partial
// values that `reduction` combines. A small immutable value: pass by const reference, share by
// `ShardingRef`.
struct Sharding {
  std::vector<DimSharding> dims;
  AxisList replicated;  // explicitly: propagation must not use them on this tensor
  AxisList unreduced;
  ReductionKind reduction = ReductionKind::kSum;
  AxisList manual;

  static Sharding replicate(int64_t rank, bool open = false);

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  const AxisList& axes(int64_t dim) const { return dims[static_cast<size_t>(dim)].axes; }
  bool is_fully_replicated() const;
  bool uses(const AxisRef& axis, const Mesh& mesh) const;  // in dims, unreduced or manual
  bool operator==(const Sharding&) const = default;

  // The text inside `#sdy.sharding<...>` without the mesh name: `[{"x"}, {?}], unreduced={"y"}`.
  std::string to_string(const Mesh& mesh) const;
};

using ShardingRef = std::shared_ptr<const Sharding>;

// Number of shards of a dimension, and of the whole tensor.
int64_t num_shards(const Sharding& sharding, int64_t dim, const Mesh& mesh);
int64_t num_shards(const Sharding& sharding, const Mesh& mesh);

// Every axis and part of one that it names.
AxisList axes_of(const Sharding& sharding);

// Same placement of data: equal axes per dimension and equal unreduced axes with their reduction;
// openness, priorities and explicit replication do not count.
bool same_placement(const Sharding& a, const Sharding& b);

// Throws UserError(place, ...) when an axis is no factor of the mesh's, or two overlap.
void check_axes(const AxisList& axes, const Mesh& mesh, const std::string& place);
// Throws UserError(place, ...) when the sharding is not legal on `mesh` for a tensor of `rank`.
void check_sharding(const Sharding& sharding, int64_t rank, const Mesh& mesh,
                    const std::string& place);
// The same of a module's, whose parts of axes are made of whole factors (Mesh::factors): one that
// cuts across them is refused.
void check_axes_of_atoms(const AxisList& axes, const Mesh& mesh, const std::string& place);
void check_sharding_of_atoms(const Sharding& sharding, int64_t rank, const Mesh& mesh,
                             const std::string& place);

}  // namespace spmd
