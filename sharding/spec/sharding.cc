#include "sharding/spec/sharding.h"

#include <fmt/ranges.h>

#include "support/error.h"

namespace spmd {

Sharding Sharding::replicate(int64_t rank, bool open) {
  Sharding sharding;
  sharding.dims.resize(static_cast<size_t>(rank));
  for (DimSharding& dim : sharding.dims) dim.open = open;
  return sharding;
}

bool Sharding::is_fully_replicated() const {
  for (const DimSharding& dim : dims) {
    if (!dim.axes.empty()) return false;
  }
  return unreduced.empty() && manual.empty();
}

bool Sharding::uses(const AxisRef& axis, const Mesh& mesh) const {
  const auto in = [&](const AxisList& axes) {
    for (const AxisRef& other : axes) {
      if (overlaps(axis, other, mesh)) return true;
    }
    return false;
  };
  for (const DimSharding& dim : dims) {
    if (in(dim.axes)) return true;
  }
  return in(unreduced) || in(manual);
}

namespace {

std::string join(const AxisList& axes, const Mesh& mesh) {
  std::string text;
  for (const AxisRef& axis : axes) {
    if (!text.empty()) text += ", ";
    text += to_string(axis, mesh);
  }
  return text;
}

const char* name_of(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::kSum:
      return "sum";
    case ReductionKind::kMax:
      return "max";
    case ReductionKind::kMin:
      return "min";
    case ReductionKind::kProduct:
      return "mul";
    case ReductionKind::kAnd:
      return "and";
    case ReductionKind::kOr:
      return "or";
  }
  return "?";
}

}  // namespace

std::string Sharding::to_string(const Mesh& mesh) const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += "{" + join(dims[i].axes, mesh);
    if (dims[i].open) text += dims[i].axes.empty() ? "?" : ", ?";
    text += "}";
    if (dims[i].priority) text += fmt::format("p{}", *dims[i].priority);
  }
  text += "]";
  if (!replicated.empty()) text += ", replicated={" + join(replicated, mesh) + "}";
  if (!unreduced.empty()) {
    text += reduction == ReductionKind::kSum ? ", unreduced={"
                                             : fmt::format(", unreduced={}{{", name_of(reduction));
    text += join(unreduced, mesh) + "}";
  }
  if (!manual.empty()) text += ", manual={" + join(manual, mesh) + "}";
  return text;
}

int64_t num_shards(const Sharding& sharding, int64_t dim, const Mesh& mesh) {
  return axes_size(sharding.axes(dim), mesh);
}

int64_t num_shards(const Sharding& sharding, const Mesh& mesh) {
  int64_t count = 1;
  for (const DimSharding& dim : sharding.dims) count *= axes_size(dim.axes, mesh);
  return count;
}

bool same_placement(const Sharding& a, const Sharding& b) {
  if (a.dims.size() != b.dims.size() || a.unreduced != b.unreduced || a.manual != b.manual) {
    return false;
  }
  if (!a.unreduced.empty() && a.reduction != b.reduction) return false;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i].axes != b.dims[i].axes) return false;
  }
  return true;
}

namespace {

// Whether a part of an axis is made of whole atoms.
bool is_of_atoms(const AxisRef& part, const Mesh& mesh) {
  bool begins = false, ends = false;
  for (const AxisRef& atom : to_atoms({{part.axis, 1, 0}}, mesh)) {
    begins = begins || atom.pre == part.pre;
    ends = ends || atom.pre * atom.size_in(mesh) == part.pre * part.size;
  }
  return begins && ends;
}

// No two digits of one number say all parts: those of (1)2 and (1)3 of 6 are x / 3 and x / 2.
[[noreturn]] void refuse_order(const AxisRef& part, const Mesh& mesh, const std::string& place) {
  const std::string& name = mesh.axes()[static_cast<size_t>(part.axis)].name;
  throw UserError(
      place,
      fmt::format("{} cuts the axis of size {} across the parts that other shardings cut it into: "
                  "{}, major to minor",
                  to_string(part, mesh), mesh.axis_size(part.axis),
                  fmt::join(mesh.factors(part.axis), " by ")),
      fmt::format("cut \"{}\" into the same parts everywhere, or give the mesh an axis for each",
                  name));
}

void check_factors(const AxisList& axes, const Mesh& mesh, const std::string& place) {
  for (const AxisRef& axis : axes) {
    if (axis.is_full()) continue;
    const int64_t full = mesh.axis_size(axis.axis);
    if (axis.size < 2 || !is_factor(axis.pre, axis.size, full))
      throw UserError(place, fmt::format("{} is not a factor of an axis of size {}",
                                         to_string(axis, mesh), full));
  }
}

// The first axis of the list that overlaps one before it, or null.
const AxisRef* repeated(const AxisList& axes, const Mesh& mesh) {
  for (size_t i = 1; i < axes.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (overlaps(axes[i], axes[k], mesh)) return &axes[i];
    }
  }
  return nullptr;
}

void check_parts(const AxisList& axes, const Mesh& mesh, const std::string& place) {
  for (const AxisRef& axis : axes)
    if (!axis.is_full() && !is_of_atoms(axis, mesh)) refuse_order(axis, mesh, place);
}

}  // namespace

AxisList axes_of(const Sharding& sharding) {
  AxisList all;
  for (const DimSharding& dim : sharding.dims)
    all.insert(all.end(), dim.axes.begin(), dim.axes.end());
  for (const AxisList* axes : {&sharding.replicated, &sharding.unreduced, &sharding.manual})
    all.insert(all.end(), axes->begin(), axes->end());
  return all;
}

void check_axes(const AxisList& axes, const Mesh& mesh, const std::string& place) {
  check_factors(axes, mesh, place);
  if (const AxisRef* axis = repeated(axes, mesh)) {
    throw UserError(place, fmt::format("axis {} is used twice", to_string(*axis, mesh)));
  }
}

void check_sharding(const Sharding& sharding, int64_t rank, const Mesh& mesh,
                    const std::string& place) {
  if (sharding.rank() != rank) {
    throw UserError(place, fmt::format("the sharding {} has {} dimensions, the tensor {}",
                                       sharding.to_string(mesh), sharding.rank(), rank));
  }
  const AxisList all = axes_of(sharding);
  check_factors(all, mesh, place);
  if (const AxisRef* axis = repeated(all, mesh)) {
    throw UserError(place, fmt::format("axis {} is used twice in {}", to_string(*axis, mesh),
                                       sharding.to_string(mesh)));
  }
}

void check_axes_of_atoms(const AxisList& axes, const Mesh& mesh, const std::string& place) {
  check_axes(axes, mesh, place);
  check_parts(axes, mesh, place);
}

void check_sharding_of_atoms(const Sharding& sharding, int64_t rank, const Mesh& mesh,
                             const std::string& place) {
  check_sharding(sharding, rank, mesh, place);
  check_parts(axes_of(sharding), mesh, place);
}

}  // namespace spmd
