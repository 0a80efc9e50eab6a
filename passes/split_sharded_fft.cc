#include "passes/split_sharded_fft.h"

#include <algorithm>
#include <numbers>
#include <numeric>
#include <tuple>

#include "passes/partition/reshards.h"

namespace spmd {
namespace {

// The transform of one dimension of an operand placed so.
struct Step {
  size_t dim;
  Placement at;
  bool stays_cut = false;  // by the four-step algorithm
};

bool is_inverse(FftKind kind) { return kind == FftKind::kIfft || kind == FftKind::kIrfft; }

bool is_real(FftKind kind) { return kind == FftKind::kRfft || kind == FftKind::kIrfft; }

// Two dimensions change places.
Dims swap(size_t rank, size_t a, size_t b) {
  Dims permutation(rank);
  std::iota(permutation.begin(), permutation.end(), int64_t{0});
  std::swap(permutation[a], permutation[b]);
  return permutation;
}

class FftSplitter : ReshardRewriter {
 public:
  FftSplitter(Module& module, const CostModel& cost) : ReshardRewriter(module, cost), cost_(cost) {}

  bool run() {
    std::vector<OpId> transforms;
    walk(fn_, [&](OpId id) {
      if (fn_.op(id).code == OpCode::kFft) transforms.push_back(id);
    });
    bool changed = false;
    for (OpId id : transforms) changed |= split(id);
    return changed;
  }

 private:
  bool split(OpId id);
  std::optional<std::vector<Step>> plan(const Op& op, Placement at) const;
  std::vector<size_t> order(const Op& op, const Placement& at) const;
  std::optional<size_t> room_for(size_t dim, const Dims& shape, const Placement& at,
                                 const std::vector<bool>& pending) const;

  double seconds_whole(const Op& op, const Placement& now);
  double seconds_of(const Op& op, const std::vector<Step>& steps, Placement now);
  double traffic(const TensorType& type, const Placement& at) const;

  ValueId placed(ValueId value, const Placement& at) {
    set_placement(value, at);
    return value;
  }
  ValueId transform(Builder& builder, ValueId value, const FftAttrs& attrs, const Placement& at) {
    return placed(builder.value(OpCode::kFft, {value}, attrs), at);
  }
  ValueId swapped(Builder& builder, ValueId value, size_t a, size_t b, Placement at);
  ValueId four_steps(Builder& builder, ValueId value, FftKind kind, const Placement& at);
  ValueId factors(Builder& builder, const TensorType& lines, FftKind kind, const Placement& at);

  const CostModel& cost_;
};

size_t first_transformed(const Function& fn, const Op& op) {
  return fn.type(op.operands[0]).shape.size() - op.as<FftAttrs>().length.size();
}

// ---- which steps

// The last dimension of a real transform is halved first and doubled last; those that are cut wait
// for others to be done, which may then take their axes.
std::vector<size_t> FftSplitter::order(const Op& op, const Placement& at) const {
  const FftKind kind = op.as<FftAttrs>().kind;
  std::vector<size_t> dims(op.as<FftAttrs>().length.size());
  std::iota(dims.begin(), dims.end(), first_transformed(fn_, op));
  const auto turn = [&](size_t dim) {
    if (is_real(kind) && dim + 1 == at.dims.size()) return kind == FftKind::kRfft ? 0 : 3;
    return at.dims[dim].empty() ? 1 : 2;
  };
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return turn(a) < turn(b); });
  return dims;
}

// The dimension that the axes of `dim` go to: one that they divide, that is not pending, the
// longest.
std::optional<size_t> FftSplitter::room_for(size_t dim, const Dims& shape, const Placement& at,
                                            const std::vector<bool>& pending) const {
  std::optional<size_t> best;
  const auto value = [&](size_t d, int64_t shards) {
    return std::tuple(shape[d] % shards == 0, !pending[d], shape[d]);
  };
  const auto shards = [&](size_t d) {
    return atoms_.extent(at.dims[d]) * atoms_.extent(at.dims[dim]);
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == dim || shape[d] < shards(d)) continue;
    if (!best || value(d, shards(d)) > value(*best, shards(*best))) best = d;
  }
  return best;
}

std::optional<std::vector<Step>> FftSplitter::plan(const Op& op, Placement at) const {
  const FftKind kind = op.as<FftAttrs>().kind;
  Dims shape = fn_.type(op.operands[0]).shape;
  std::vector<bool> pending(shape.size(), false);
  const std::vector<size_t> dims = order(op, at);
  for (size_t dim : dims) pending[dim] = true;
  std::vector<Step> steps;
  for (size_t dim : dims) {
    const bool real = is_real(kind) && dim + 1 == shape.size();
    const int64_t shards = atoms_.extent(at.dims[dim]);
    bool stays_cut = false;
    if (!at.dims[dim].empty()) {
      if (const std::optional<size_t> other = room_for(dim, shape, at, pending)) {
        AtomList& axes = at.dims[*other];
        axes.insert(axes.end(), at.dims[dim].begin(), at.dims[dim].end());
        at.dims[dim].clear();
      } else if (!real && shape[dim] > 0 && shape[dim] % (shards * shards) == 0) {
        stays_cut = true;
      } else {
        return std::nullopt;
      }
    }
    steps.push_back({dim, at, stays_cut});
    pending[dim] = false;
    if (real) shape[dim] = fn_.type(op.results[0]).shape[dim];
  }
  return steps;
}

// ---- what they cost

// Reading a device's share of a tensor and writing as much.
double FftSplitter::traffic(const TensorType& type, const Placement& at) const {
  double shards = 1;
  for (const AtomList& axes : at.dims) shards *= static_cast<double>(atoms_.extent(axes));
  return 2 * static_cast<double>(type.num_bytes()) / shards / cost_.memory_bandwidth;
}

double FftSplitter::seconds_whole(const Op& op, const Placement& now) {
  Placement gathered = now;
  for (size_t d = first_transformed(fn_, op); d < gathered.dims.size(); ++d) {
    gathered.dims[d].clear();
  }
  return seconds(op.operands[0], now, gathered) + traffic(fn_.type(op.operands[0]), gathered) +
         seconds(op.results[0], gathered, placement(op.results[0]));
}

double FftSplitter::seconds_of(const Op& op, const std::vector<Step>& steps, Placement now) {
  // Complex from the first step on: what a real operand would be.
  const TensorType& operand = fn_.type(op.operands[0]);
  const TensorType type =
      is_complex(operand.dtype) ? operand : operand.with_dtype(fn_.type(op.results[0]).dtype);
  const AtomMask manual = manual_axes_around(fn_, op.block, atoms_);
  double sum = 0;
  for (const Step& step : steps) {
    sum += costs_.seconds(type, now, step.at, manual) + traffic(type, step.at);
    now = step.at;
    if (!step.stays_cut) continue;
    const int64_t shards = atoms_.extent(now.dims[step.dim]);
    TensorType lines = type;
    lines.shape[step.dim] = shards;
    lines.shape.push_back(type.shape[step.dim] / shards);
    Placement rows = now, columns = now;
    rows.dims.emplace_back();
    columns.dims.push_back(now.dims[step.dim]);
    columns.dims[step.dim].clear();
    sum += 3 * costs_.seconds(lines, rows, columns, manual) + 2 * traffic(type, now);
  }
  return sum + seconds(op.results[0], now, placement(op.results[0]));
}

// ---- the steps

ValueId FftSplitter::swapped(Builder& builder, ValueId value, size_t a, size_t b, Placement at) {
  if (a == b) return value;
  return placed(builder.transpose(value, swap(at.dims.size(), a, b)), at);
}

// exp(-+2 pi i n k / N) for row n and column k of `lines`, [..., M, P] with N = M P. In double
// precision, so that each is as good as its type allows.
ValueId FftSplitter::factors(Builder& builder, const TensorType& lines, FftKind kind,
                             const Placement& at) {
  const size_t rank = lines.shape.size();
  const Dims shape = {lines.shape[rank - 2], lines.shape[rank - 1]};
  Placement rows;
  rows.dims = {at.dims[rank - 2], at.dims[rank - 1]};
  const auto made = [&](ValueId value) { return placed(value, rows); };
  const TensorType counts{DType::kS64, shape};
  const ValueId n = made(builder.iota(counts, 0)), k = made(builder.iota(counts, 1));
  const ValueId turns =
      made(builder.convert(made(builder.binary(OpCode::kMultiply, n, k)), DType::kF64));
  const double turn = 2 * std::numbers::pi / static_cast<double>(shape[0] * shape[1]);
  const ValueId unit = made(builder.splat({DType::kF64, shape}, is_inverse(kind) ? turn : -turn));
  const ValueId angle = made(builder.binary(OpCode::kMultiply, turns, unit));
  const DType part = lines.dtype == DType::kC128 ? DType::kF64 : DType::kF32;
  const auto of_angle = [&](OpCode function) {
    const ValueId value = made(builder.value(function, {angle}));
    return part == DType::kF64 ? value : made(builder.convert(value, part));
  };
  const ValueId cosine = of_angle(OpCode::kCosine), sine = of_angle(OpCode::kSine);
  const ValueId root = made(builder.binary(OpCode::kComplex, cosine, sine));
  const auto last = static_cast<int64_t>(rank);
  return rank == 2 ? root : placed(builder.broadcast(root, lines.shape, {last - 2, last - 1}), at);
}

// The transform of the last dimension, which is cut into P blocks. Everything between the reshapes
// has its last dimension whole and the one before it cut.
ValueId FftSplitter::four_steps(Builder& builder, ValueId value, FftKind kind,
                                const Placement& at) {
  const size_t rank = at.dims.size();
  const Dims shape = fn_.type(value).shape;
  const int64_t p = atoms_.extent(at.dims[rank - 1]), m = shape[rank - 1] / p;
  Dims lines = shape;
  lines[rank - 1] = p;
  lines.push_back(m);
  Placement rows = at;
  rows.dims.emplace_back();
  const auto turned = [&](ValueId matrix) {
    return swapped(builder, matrix, rank - 1, rank, rows);
  };
  const ValueId columns = turned(placed(builder.reshape(value, lines), rows));
  const ValueId inner = transform(builder, columns, {kind, {p}}, rows);
  const ValueId roots = factors(builder, fn_.type(inner), kind, rows);
  const ValueId scaled = placed(builder.binary(OpCode::kMultiply, inner, roots), rows);
  const ValueId outer = transform(builder, turned(scaled), {kind, {m}}, rows);
  return placed(builder.reshape(turned(outer), shape), at);
}

bool FftSplitter::split(OpId id) {
  const Op op = fn_.op(id);
  const FftAttrs attrs = op.as<FftAttrs>();
  const Placement now = placement(op.operands[0]);
  const size_t last = now.dims.size() - 1;
  if (std::all_of(now.dims.begin() + static_cast<std::ptrdiff_t>(first_transformed(fn_, op)),
                  now.dims.end(), [](const AtomList& axes) { return axes.empty(); })) {
    return false;
  }
  // Batches that take the axes need one op.
  const FactorRule rule = *factor_rule(fn_, id);
  const TensorFactors& tensor = rule.operands[0];
  if (with_moved_axes(rule, tensor, now, project(rule, tensor, now, atoms_), atoms_)) return false;
  const std::optional<std::vector<Step>> steps = plan(op, now);
  if (!steps || seconds_of(op, *steps, now) >= seconds_whole(op, now)) return false;

  Builder builder = Builder::before(fn_, id);
  builder.location = op.location;
  ValueId value = op.operands[0];
  for (const Step& step : *steps) {
    const bool real = is_real(attrs.kind) && step.dim == last;
    const FftKind kind = real                     ? attrs.kind
                         : is_inverse(attrs.kind) ? FftKind::kIfft
                                                  : FftKind::kFft;
    const int64_t length = attrs.length[attrs.length.size() - 1 - (last - step.dim)];
    Placement at = step.at;
    std::swap(at.dims[step.dim], at.dims[last]);
    value = swapped(builder, value, step.dim, last, at);
    value = step.stays_cut ? four_steps(builder, value, kind, at)
                           : transform(builder, value, {kind, {length}}, at);
    value = swapped(builder, value, step.dim, last, step.at);
  }
  fn_.replace_all_uses(op.results[0], value);
  fn_.erase_op(id);
  return true;
}

}  // namespace

Pass split_sharded_fft_pass() {
  return {"split_sharded_fft", "transform along cut dimensions without gathering them",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
            return FftSplitter(module, context.options.cost).run();
          }};
}

}  // namespace spmd
