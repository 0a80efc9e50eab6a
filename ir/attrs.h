// Typed attributes of ops. Dimension numbers mean what the StableHLO specification says.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/literal.h"
#include "sharding/spec/sharding.h"
#include "support/rank_pairs.h"

namespace spmd {

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
};

// ---- elementwise

enum class CompareDirection : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
enum class CompareType : uint8_t { kNone, kFloat, kSigned, kUnsigned, kTotalOrder };

struct CompareAttrs {
  CompareDirection direction = CompareDirection::kEq;
  CompareType type = CompareType::kNone;  // kNone: by element type
  bool operator==(const CompareAttrs&) const = default;
};

struct ReducePrecisionAttrs {
  int exponent_bits = 8;
  int mantissa_bits = 23;
  bool operator==(const ReducePrecisionAttrs&) const = default;
};

// ---- shape

struct ConstantAttrs {
  Literal value;
  bool operator==(const ConstantAttrs&) const = default;
};

struct IotaAttrs {
  int64_t dim = 0;
  bool operator==(const IotaAttrs&) const = default;
};

struct BroadcastInDimAttrs {
  Dims dims;  // operand dimension -> result dimension
  bool operator==(const BroadcastInDimAttrs&) const = default;
};

struct ConcatenateAttrs {
  int64_t dim = 0;
  bool operator==(const ConcatenateAttrs&) const = default;
};

struct PadAttrs {
  Dims low, high, interior;  // low and high may be negative
  bool operator==(const PadAttrs&) const = default;
};

struct ReverseAttrs {
  Dims dims;
  bool operator==(const ReverseAttrs&) const = default;
};

struct SliceAttrs {
  Dims start, limit, stride;
  bool operator==(const SliceAttrs&) const = default;
};

struct TransposeAttrs {
  Dims permutation;  // result dimension i is operand dimension permutation[i]
  bool operator==(const TransposeAttrs&) const = default;
};

// ---- contraction and convolution

enum class Precision : uint8_t { kDefault, kHigh, kHighest };

// The explicit algorithm of a dot. `lhs`, `rhs` are the types to which operands are rounded first,
// `accumulation` the type of the sums.
struct DotAlgorithm {
  DType lhs = DType::kF32, rhs = DType::kF32, accumulation = DType::kF32;
  int lhs_components = 1, rhs_components = 1, primitive_operations = 1;
  bool allow_imprecise_accumulation = false;
  bool operator==(const DotAlgorithm&) const = default;
};

struct DotAttrs {
  Dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  std::vector<Precision> precision;  // empty, or one per operand
  std::optional<DotAlgorithm> algorithm;
  bool operator==(const DotAttrs&) const = default;
};

struct ConvolutionAttrs {
  // Dimension numbers of operand, kernel and result.
  int64_t input_batch = 0, input_feature = 0;
  Dims input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  Dims kernel_spatial;
  int64_t output_batch = 0, output_feature = 0;
  Dims output_spatial;
  // One entry per spatial dimension.
  Dims stride, pad_low, pad_high, lhs_dilation, rhs_dilation;
  std::vector<bool> reversal;
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::vector<Precision> precision;
  bool operator==(const ConvolutionAttrs&) const = default;
};

// ---- attention

// Of attention(query, key, value) -> (output, statistics), for query [b, t, h, g, d], key
// [b, s, h, d] and value [b, s, h, e]: h heads of keys and values serve g heads of queries each.
//   scores = scale * sum over d of query * key, of the keys that a query sees  [b, h, g, t, s]
//   output = sum over s of softmax(scores) * value                             [b, t, h, g, e]
//   statistics = log of the sum over s of exp(scores)                          [b, h, g, t]
// and of attention_backward(query, key, value, output, statistics, d_output) -> (d_query, d_key,
// d_value), the gradients of a loss whose gradient of the output is d_output. Its output and
// statistics are those of attention on the same operands. Sums are of the accumulation type, as are
// the statistics; probabilities and the gradients of scores are rounded to the operands' type.
struct AttentionAttrs {
  double scale = 1;     // of the products of queries and keys
  bool causal = false;  // a query sees the keys that do not come after it
  bool operator==(const AttentionAttrs&) const = default;
};

// ---- linear algebra

enum class FftKind : uint8_t { kFft, kIfft, kRfft, kIrfft };

struct FftAttrs {
  FftKind kind = FftKind::kFft;
  Dims length;  // of the innermost dimensions: those that are transformed
  bool operator==(const FftAttrs&) const = default;
};

struct CholeskyAttrs {
  bool lower = false;
  bool operator==(const CholeskyAttrs&) const = default;
};

enum class TransposeKind : uint8_t { kNone, kTranspose, kAdjoint };

struct TriangularSolveAttrs {
  bool left_side = false, lower = false, unit_diagonal = false;
  TransposeKind transpose_a = TransposeKind::kNone;
  bool operator==(const TriangularSolveAttrs&) const = default;
};

// ---- reduction, window

struct ReduceAttrs {
  Dims dims;
  bool operator==(const ReduceAttrs&) const = default;
};

// Of reduce_window and select_and_scatter; one entry per dimension of the operand.
struct WindowAttrs {
  Dims size, stride, base_dilation, window_dilation, pad_low, pad_high;
  bool operator==(const WindowAttrs&) const = default;
};

// ---- indexing

struct DynamicSliceAttrs {
  Dims sizes;
  bool operator==(const DynamicSliceAttrs&) const = default;
};

struct GatherAttrs {
  Dims offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
      start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  bool operator==(const GatherAttrs&) const = default;
};

struct ScatterAttrs {
  Dims update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
      scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  bool operator==(const ScatterAttrs&) const = default;
};

// ---- ordering, random

struct SortAttrs {
  int64_t dim = 0;
  bool is_stable = false;
  bool operator==(const SortAttrs&) const = default;
};

struct TopKAttrs {
  int64_t k = 1;  // along the last dimension
  bool operator==(const TopKAttrs&) const = default;
};

enum class RngAlgorithm : uint8_t { kDefault, kThreeFry, kPhilox };

struct RngBitGeneratorAttrs {
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  bool operator==(const RngBitGeneratorAttrs&) const = default;
};

// ---- control flow

struct CallAttrs {
  int callee = 0;  // index into Module::functions()
  bool operator==(const CallAttrs&) const = default;
};

struct CustomCallAttrs {
  std::string target;
  std::string backend_config;
  std::vector<std::pair<std::string, std::string>> frontend_attributes;
  bool has_side_effect = false;
  bool operator==(const CustomCallAttrs&) const = default;
};

// ---- collective

// Who takes part in a collective. Either mesh axes (the groups are all device groups along `axes`,
// so the description does not grow with the mesh), or explicit lists of device numbers as imported
// manual code may have them.
struct CollectiveGroups {
  AxisList axes;
  std::vector<std::vector<int64_t>> explicit_groups;
  bool is_explicit() const { return !explicit_groups.empty(); }
  bool operator==(const CollectiveGroups&) const = default;
};

struct AllGatherAttrs {
  int64_t dim = 0;
  CollectiveGroups groups;
  bool operator==(const AllGatherAttrs&) const = default;
};

struct AllReduceAttrs {  // the region is the reduction
  CollectiveGroups groups;
  bool operator==(const AllReduceAttrs&) const = default;
};

struct ReduceScatterAttrs {  // the region is the reduction
  int64_t dim = 0;
  CollectiveGroups groups;
  bool operator==(const ReduceScatterAttrs&) const = default;
};

// Splits dimension `split_dim` into as many parts as the group has members, sends part i to member
// i, and concatenates what arrives along `concat_dim`.
struct AllToAllAttrs {
  int64_t split_dim = 0, concat_dim = 0;
  CollectiveGroups groups;
  bool operator==(const AllToAllAttrs&) const = default;
};

// Pairs are device numbers when `axes` is empty, else indices along `axes`, the same in every
// group. A member that receives nothing gets zeros.
struct CollectivePermuteAttrs {
  AxisList axes;
  RankPairs source_target_pairs;
  bool operator==(const CollectivePermuteAttrs&) const = default;
};

// The index of this rank along `axes`, as a scalar i32.
struct AxisIndexAttrs {
  AxisList axes;
  bool operator==(const AxisIndexAttrs&) const = default;
};

// Inside the region shapes are local with respect to `manual_axes`.
struct ManualComputationAttrs {
  std::vector<Sharding> in_shardings, out_shardings;
  AxisList manual_axes;
  bool operator==(const ManualComputationAttrs&) const = default;
};

// Of spmd.reshard (the operand's data placed as `sharding`; the value does not change) and of
// sdy.sharding_constraint (a wish; propagation takes it as given).
struct ReshardAttrs {
  Sharding sharding;
  bool operator==(const ReshardAttrs&) const = default;
};

// Which way propagation may pass a barrier.
enum class PropagationDirection : uint8_t { kNone, kForward, kBackward, kBoth };

struct PropagationBarrierAttrs {
  PropagationDirection allowed = PropagationDirection::kNone;
  bool operator==(const PropagationBarrierAttrs&) const = default;
};

// Values of one group have one sharding.
struct ShardingGroupAttrs {
  int64_t group = 0;
  bool operator==(const ShardingGroupAttrs&) const = default;
};

// ---- of ops that readers rewrite (ir/expand.h); never in a module that has been verified

struct BatchNormAttrs {
  double epsilon = 0;
  int64_t feature_dim = 0;
  bool operator==(const BatchNormAttrs&) const = default;
};

struct BroadcastAttrs {
  Dims sizes;  // in front of the operand's dimensions
  bool operator==(const BroadcastAttrs&) const = default;
};

// Of chlo.broadcast_*. `dims`: where the operand of lower rank lies in the result; by default its
// dimensions are the last ones.
struct ImplicitBroadcastAttrs {
  std::optional<Dims> dims;
  CompareAttrs compare;
  bool operator==(const ImplicitBroadcastAttrs&) const = default;
};

struct CheckAttrs {
  std::optional<Literal> expected;  // of the _const forms
  uint64_t min_ulps = 0, max_ulps = 3;
  double tolerance = 1e-3;  // absolute
  bool operator==(const CheckAttrs&) const = default;
};

// Each group's first member sends to the others.
struct CollectiveBroadcastAttrs {
  CollectiveGroups groups;
  bool operator==(const CollectiveBroadcastAttrs&) const = default;
};

struct DimensionAttrs {
  int64_t dim = 0;
  bool operator==(const DimensionAttrs&) const = default;
};

struct EinsumAttrs {
  std::string equation;
  bool operator==(const EinsumAttrs&) const = default;
};

struct RaggedDotAttrs {
  DotAttrs dot;
  Dims lhs_ragged, rhs_group;
  bool operator==(const RaggedDotAttrs&) const = default;
};

enum class RngDistribution : uint8_t { kUniform, kNormal };

struct RngAttrs {
  RngDistribution distribution = RngDistribution::kUniform;
  bool operator==(const RngAttrs&) const = default;
};

// Functions by replica and partition.
struct RunParallelAttrs {
  std::vector<std::vector<int>> programs;
  bool operator==(const RunParallelAttrs&) const = default;
};

struct TorchIndexSelectAttrs {
  int64_t dim = 0, batch_dims = 0;
  bool operator==(const TorchIndexSelectAttrs&) const = default;
};

using AttrsVariant = std::variant<
    NoAttrs, CompareAttrs, ReducePrecisionAttrs, ConstantAttrs, IotaAttrs, BroadcastInDimAttrs,
    ConcatenateAttrs, PadAttrs, ReverseAttrs, SliceAttrs, TransposeAttrs, DotAttrs,
    ConvolutionAttrs, FftAttrs, CholeskyAttrs, TriangularSolveAttrs, ReduceAttrs, WindowAttrs,
    DynamicSliceAttrs, GatherAttrs, ScatterAttrs, SortAttrs, TopKAttrs, RngBitGeneratorAttrs,
    CallAttrs, CustomCallAttrs, AllGatherAttrs, AllReduceAttrs, ReduceScatterAttrs, AllToAllAttrs,
    CollectiveBroadcastAttrs, CollectivePermuteAttrs, AxisIndexAttrs, ManualComputationAttrs,
    ReshardAttrs, PropagationBarrierAttrs, ShardingGroupAttrs, BatchNormAttrs, BroadcastAttrs,
    ImplicitBroadcastAttrs, CheckAttrs, DimensionAttrs, EinsumAttrs, RaggedDotAttrs, RngAttrs,
    RunParallelAttrs, TorchIndexSelectAttrs, AttentionAttrs>;

// The attributes of an op. Special members are compiled once, in attrs.cc: instantiated in every
// file, they would be a sixth of the build.
struct Attrs : AttrsVariant {
  using AttrsVariant::AttrsVariant;
  Attrs();
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();
  bool operator==(const Attrs& other) const;
};

// Attrs apart from their op, most of which have none: as large as a pointer.
class BoxedAttrs {
 public:
  BoxedAttrs() = default;
  BoxedAttrs(Attrs attrs);
  BoxedAttrs(const BoxedAttrs& other);
  BoxedAttrs(BoxedAttrs&& other) noexcept = default;
  BoxedAttrs& operator=(const BoxedAttrs& other);
  BoxedAttrs& operator=(BoxedAttrs&& other) noexcept = default;

  const Attrs& get() const { return box_ ? *box_ : none(); }
  Attrs& get() {
    if (!box_) box_ = std::make_unique<Attrs>();
    return *box_;
  }
  operator const Attrs&() const { return get(); }
  bool operator==(const BoxedAttrs& other) const;

 private:
  static const Attrs& none();

  std::unique_ptr<Attrs> box_;  // null: NoAttrs
};

}  // namespace spmd
