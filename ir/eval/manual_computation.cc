// manual_computation on global values: each rank of the space becomes one rank per position along
// the manual axes, operands are cut, the region runs on all of them, results are put together.
#include <algorithm>

#include "ir/eval/interpreter.h"
#include "ir/eval/strided.h"
#include "support/error.h"

namespace spmd::eval {
namespace {

// Where the block of one rank lies in a global value.
struct Cut {
  Dims start, shape;
};

// The axes of a dimension that are manual; others do not cut.
AxisList manual_axes_of(const Sharding& sharding, size_t dim, const AxisList& manual,
                        const Mesh& mesh) {
  const AxisList manual_atoms = to_atoms(manual, mesh);
  AxisList axes;
  for (const AxisRef& atom : to_atoms(sharding.dims[dim].axes, mesh)) {
    const auto found = std::find(manual_atoms.begin(), manual_atoms.end(), atom);
    if (found != manual_atoms.end()) axes.push_back(atom);
  }
  return axes;
}

Cut cut_of(const TensorType& global, const Sharding& sharding, const AxisList& manual,
           const std::vector<int64_t>& coordinates, const Mesh& mesh, const std::string& place) {
  Cut cut{Dims(global.shape.size(), 0), global.shape};
  for (size_t d = 0; d < global.shape.size(); ++d) {
    const AxisList axes = manual_axes_of(sharding, d, manual, mesh);
    const int64_t parts = axes_size(axes, mesh);
    if (global.shape[d] % parts != 0) {
      throw UserError(place,
                      fmt::format("dimension {} of {} cannot be split into {} equal parts", d,
                                  to_string(global), parts),
                      "a manual computation needs sizes that its manual axes divide");
    }
    cut.shape[d] = global.shape[d] / parts;
    cut.start[d] = index_along(axes, coordinates, mesh) * cut.shape[d];
  }
  return cut;
}

bool same_types(const Function& fn, const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](ValueId x, ValueId y) { return fn.type(x) == fn.type(y); });
}

}  // namespace

// Outer values that the region reads are spread over the inner ranks while it runs.
std::vector<PerRank> Interpreter::run_on_inner_ranks(Frame& frame, BlockId region,
                                                     std::vector<PerRank> arguments,
                                                     const RankSpace& inner) {
  const auto copies = static_cast<size_t>(inner.size() / space_.size());
  std::unordered_map<ValueId, PerRank> captured;
  walk(frame.fn, region, [&](OpId id) {
    for (ValueId v : frame.fn.op(id).operands) {
      PerRank& value = frame.values[index_of(v)];
      if (value.size() <= 1 || captured.contains(v)) continue;
      PerRank spread;
      for (const Literal& literal : value) spread.insert(spread.end(), copies, literal);
      captured[v] = std::exchange(value, std::move(spread));
    }
  });
  RankSpace outer = std::exchange(space_, inner);
  std::vector<PerRank> results = run_block(frame, region, std::move(arguments));
  space_ = std::move(outer);
  for (auto& [v, value] : captured) frame.values[index_of(v)] = std::move(value);
  return results;
}

std::vector<PerRank> Interpreter::run_manual_computation(Frame& frame, const Op& op,
                                                         std::vector<PerRank> operands) {
  const auto& attrs = op.as<ManualComputationAttrs>();
  const Mesh& mesh = space_.mesh();
  const std::string place = place_of(op);
  const Function& fn = frame.fn;
  if (partitioned_) {
    // Shapes are local already, so the region is ordinary code.
    if (same_types(fn, op.operands, fn.block(op.regions[0]).args)) {
      return run_block(frame, op.regions[0], std::move(operands));
    }
    throw UserError(place, "a manual computation that still cuts its operands",
                    "in a partitioned module its operands have local shapes");
  }

  AxisList axes = space_.axes();
  axes.insert(axes.end(), attrs.manual_axes.begin(), attrs.manual_axes.end());
  const RankSpace inner = RankSpace::along(mesh, axes);
  const int64_t copies = inner.size() / space_.size();  // inner ranks per outer rank

  std::vector<PerRank> local(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    for (int64_t rank = 0; rank < inner.size(); ++rank) {
      const Literal& global = on_rank(operands[i], static_cast<size_t>(rank / copies));
      const Cut cut = cut_of(global.type(), attrs.in_shardings[i], attrs.manual_axes,
                             inner.coordinates(rank), mesh, place);
      local[i].push_back(slice_of(global, cut.start, cut.shape));
    }
  }

  const std::vector<PerRank> results =
      run_on_inner_ranks(frame, op.regions[0], std::move(local), inner);

  std::vector<PerRank> assembled(op.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorType& type = fn.type(op.results[i]);
    if (!attrs.out_shardings[i].unreduced.empty()) {
      throw UserError(place, fmt::format("result {} is unreduced", i),
                      "reduce it inside the manual computation");
    }
    for (int64_t rank = 0; rank < inner.size(); ++rank) {
      if (rank % copies == 0) assembled[i].emplace_back(type);
      const Cut cut = cut_of(type, attrs.out_shardings[i], attrs.manual_axes,
                             inner.coordinates(rank), mesh, place);
      write_slice(assembled[i].back(), cut.start, on_rank(results[i], static_cast<size_t>(rank)));
    }
  }
  return assembled;
}

}  // namespace spmd::eval
