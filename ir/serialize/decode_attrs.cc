#include "ir/serialize/decode.h"
#include "support/error.h"

namespace spmd::serialize_internal {
namespace {

template <typename Enum>
Enum enumerator(const DecodeContext& context, uint32_t value, Enum last) {
  if (value > static_cast<uint32_t>(last)) context.fail(fmt::format("enumerator {}", value));
  return static_cast<Enum>(value);
}

CollectiveGroups groups(const DecodeContext& context, const ir::Groups& from) {
  CollectiveGroups result;
  result.axes = decode(context, from.axes());
  for (const auto& group : from.groups()) {
    for (int64_t device : group.devices()) {
      if (device < 0) context.fail(fmt::format("device {}", device));
    }
    result.explicit_groups.push_back(decode(group.devices()));
  }
  return result;
}

std::vector<Precision> precision(const DecodeContext& context,
                                 const google::protobuf::RepeatedField<uint32_t>& from) {
  std::vector<Precision> list;
  for (uint32_t value : from) list.push_back(enumerator(context, value, Precision::kHighest));
  return list;
}

ConstantAttrs constant(const DecodeContext& context, const ir::Literal& from) {
  const TensorType& type = context.at(context.types, from.type(), "type");
  for (int64_t size : type.shape) {
    if (size < 0) context.fail("a constant without a known shape");
  }
  std::vector<std::byte> bytes(from.data().size());
  if (!bytes.empty()) std::memcpy(bytes.data(), from.data().data(), bytes.size());
  if (type.dtype == DType::kBool) {
    for (std::byte& byte : bytes) byte = std::byte{byte != std::byte{0}};
  }
  const int64_t expected = from.splat() ? byte_size(type.dtype) : type.num_bytes();
  if (static_cast<int64_t>(bytes.size()) != expected) {
    context.fail(fmt::format("{} bytes for a constant of {}", bytes.size(), to_string(type)));
  }
  if (!from.splat()) return {Literal(type, std::move(bytes))};
  return {Literal::splat(type, static_cast<const void*>(bytes.data()))};
}

DotAttrs dot(const DecodeContext& context, const ir::Dot& from) {
  DotAttrs attrs;
  attrs.lhs_batch = decode(from.lhs_batch());
  attrs.rhs_batch = decode(from.rhs_batch());
  attrs.lhs_contracting = decode(from.lhs_contracting());
  attrs.rhs_contracting = decode(from.rhs_contracting());
  attrs.precision = precision(context, from.precision());
  if (!from.has_algorithm()) return attrs;
  const ir::Dot::Algorithm& algorithm = from.algorithm();
  attrs.algorithm = DotAlgorithm{decode_dtype(context, algorithm.lhs()),
                                 decode_dtype(context, algorithm.rhs()),
                                 decode_dtype(context, algorithm.accumulation()),
                                 algorithm.lhs_components(),
                                 algorithm.rhs_components(),
                                 algorithm.primitive_operations(),
                                 algorithm.allow_imprecise_accumulation()};
  return attrs;
}

ConvolutionAttrs convolution(const DecodeContext& context, const ir::Convolution& from) {
  ConvolutionAttrs attrs;
  attrs.input_batch = from.input_batch();
  attrs.input_feature = from.input_feature();
  attrs.input_spatial = decode(from.input_spatial());
  attrs.kernel_input_feature = from.kernel_input_feature();
  attrs.kernel_output_feature = from.kernel_output_feature();
  attrs.kernel_spatial = decode(from.kernel_spatial());
  attrs.output_batch = from.output_batch();
  attrs.output_feature = from.output_feature();
  attrs.output_spatial = decode(from.output_spatial());
  attrs.stride = decode(from.stride());
  attrs.pad_low = decode(from.pad_low());
  attrs.pad_high = decode(from.pad_high());
  attrs.lhs_dilation = decode(from.lhs_dilation());
  attrs.rhs_dilation = decode(from.rhs_dilation());
  attrs.reversal.assign(from.reversal().begin(), from.reversal().end());
  attrs.feature_group_count = from.feature_group_count();
  attrs.batch_group_count = from.batch_group_count();
  attrs.precision = precision(context, from.precision());
  return attrs;
}

WindowAttrs window(const ir::Window& from) {
  return {decode(from.size()),          decode(from.stride()),
          decode(from.base_dilation()), decode(from.window_dilation()),
          decode(from.pad_low()),       decode(from.pad_high())};
}

GatherAttrs gather(const ir::Gather& from) {
  return {decode(from.offset_dims()),           decode(from.collapsed_slice_dims()),
          decode(from.operand_batching_dims()), decode(from.start_indices_batching_dims()),
          decode(from.start_index_map()),       from.index_vector_dim(),
          decode(from.slice_sizes()),           from.indices_are_sorted()};
}

ScatterAttrs scatter(const ir::Scatter& from) {
  return {decode(from.update_window_dims()),
          decode(from.inserted_window_dims()),
          decode(from.input_batching_dims()),
          decode(from.scatter_indices_batching_dims()),
          decode(from.scatter_dims_to_operand_dims()),
          from.index_vector_dim(),
          from.indices_are_sorted(),
          from.unique_indices()};
}

CustomCallAttrs custom_call(const ir::CustomCall& from) {
  CustomCallAttrs attrs;
  attrs.target = from.target();
  attrs.backend_config = from.backend_config();
  attrs.has_side_effect = from.has_side_effect();
  for (const auto& entry : from.frontend_attributes()) {
    attrs.frontend_attributes.emplace_back(entry.key(), entry.value());
  }
  return attrs;
}

CollectivePermuteAttrs permute(const DecodeContext& context, const ir::CollectivePermute& from) {
  CollectivePermuteAttrs attrs;
  attrs.axes = decode(context, from.axes());
  for (const ir::CollectivePermute::Run& run : from.runs()) {
    const RankPairs::Run pairs{run.source(), run.target(), run.count(), run.source_step(),
                               run.target_step()};
    if (!pairs.is_sound()) context.fail("a run of pairs that is empty or beyond 2^31 ranks");
    attrs.source_target_pairs.append(pairs);
  }
  return attrs;
}

ManualComputationAttrs manual(const DecodeContext& context, const ir::ManualComputation& from) {
  ManualComputationAttrs attrs;
  for (const auto& each : from.in_shardings()) attrs.in_shardings.push_back(decode(context, each));
  for (const auto& each : from.out_shardings())
    attrs.out_shardings.push_back(decode(context, each));
  attrs.manual_axes = decode(context, from.manual_axes());
  return attrs;
}

CallAttrs call(const DecodeContext& context, uint32_t callee) {
  if (callee >= static_cast<uint32_t>(context.num_functions)) {
    context.fail(fmt::format("a call of function {} of {}", callee, context.num_functions));
  }
  return {static_cast<int>(callee)};
}

ReducePrecisionAttrs reduce_precision(const ir::ReducePrecision& from) {
  return {from.exponent_bits(), from.mantissa_bits()};
}

Attrs decode_any(const DecodeContext& context, const ir::Op& op) {
  switch (op.attrs_case()) {
    case ir::Op::ATTRS_NOT_SET:
      return NoAttrs{};
    case ir::Op::kCompare:
      return CompareAttrs{enumerator(context, op.compare().direction(), CompareDirection::kGe),
                          enumerator(context, op.compare().type(), CompareType::kTotalOrder)};
    case ir::Op::kReducePrecision:
      return reduce_precision(op.reduce_precision());
    case ir::Op::kConstant:
      return constant(context, op.constant());
    case ir::Op::kIota:
      return IotaAttrs{op.iota().value()};
    case ir::Op::kBroadcastInDim:
      return BroadcastInDimAttrs{decode(op.broadcast_in_dim().sizes())};
    case ir::Op::kConcatenate:
      return ConcatenateAttrs{op.concatenate().value()};
    case ir::Op::kPad:
      return PadAttrs{decode(op.pad().low()), decode(op.pad().high()), decode(op.pad().interior())};
    case ir::Op::kReverse:
      return ReverseAttrs{decode(op.reverse().sizes())};
    case ir::Op::kSlice:
      return SliceAttrs{decode(op.slice().start()), decode(op.slice().limit()),
                        decode(op.slice().stride())};
    case ir::Op::kTranspose:
      return TransposeAttrs{decode(op.transpose().sizes())};
    case ir::Op::kDot:
      return dot(context, op.dot());
    case ir::Op::kConvolution:
      return convolution(context, op.convolution());
    case ir::Op::kReduce:
      return ReduceAttrs{decode(op.reduce().sizes())};
    case ir::Op::kWindow:
      return window(op.window());
    case ir::Op::kDynamicSlice:
      return DynamicSliceAttrs{decode(op.dynamic_slice().sizes())};
    case ir::Op::kGather:
      return gather(op.gather());
    case ir::Op::kScatter:
      return scatter(op.scatter());
    case ir::Op::kSort:
      return SortAttrs{op.sort().dim(), op.sort().is_stable()};
    case ir::Op::kTopK:
      return TopKAttrs{op.top_k().value()};
    case ir::Op::kRngBitGenerator:
      return RngBitGeneratorAttrs{
          enumerator(context, op.rng_bit_generator().algorithm(), RngAlgorithm::kPhilox)};
    case ir::Op::kCall:
      return call(context, op.call());
    case ir::Op::kCustomCall:
      return custom_call(op.custom_call());
    case ir::Op::kAllGather:
      return AllGatherAttrs{op.all_gather().dim(), groups(context, op.all_gather().groups())};
    case ir::Op::kAllReduce:
      return AllReduceAttrs{groups(context, op.all_reduce())};
    case ir::Op::kReduceScatter:
      return ReduceScatterAttrs{op.reduce_scatter().dim(),
                                groups(context, op.reduce_scatter().groups())};
    case ir::Op::kAllToAll:
      return AllToAllAttrs{op.all_to_all().split_dim(), op.all_to_all().concat_dim(),
                           groups(context, op.all_to_all().groups())};
    case ir::Op::kCollectivePermute:
      return permute(context, op.collective_permute());
    case ir::Op::kAxisIndex:
      return AxisIndexAttrs{decode(context, op.axis_index().axes())};
    case ir::Op::kManualComputation:
      return manual(context, op.manual_computation());
    case ir::Op::kReshard:
      return ReshardAttrs{decode(context, op.reshard())};
    case ir::Op::kAttention:
      return AttentionAttrs{op.attention().scale(), op.attention().causal()};
    case ir::Op::kFft:
      return FftAttrs{enumerator(context, op.fft().kind(), FftKind::kIrfft),
                      decode(op.fft().length())};
    case ir::Op::kCholesky:
      return CholeskyAttrs{op.cholesky()};
    case ir::Op::kTriangularSolve: {
      const ir::TriangularSolve& solve = op.triangular_solve();
      return TriangularSolveAttrs{
          solve.left_side(), solve.lower(), solve.unit_diagonal(),
          enumerator(context, solve.transpose_a(), TransposeKind::kAdjoint)};
    }
    case ir::Op::kPropagationBarrier:
      return PropagationBarrierAttrs{
          enumerator(context, op.propagation_barrier(), PropagationDirection::kBoth)};
    case ir::Op::kShardingGroup:
      return ShardingGroupAttrs{op.sharding_group().value()};
  }
  context.fail("an unknown kind of attributes");
}

bool fits(OpCode code, const Attrs& attrs) {
  switch (code) {
#define SPMD_OP(enumerator, spelling, family, Struct) \
  case OpCode::enumerator:                            \
    return std::holds_alternative<Struct>(attrs);
#include "ir/ops.def"
#undef SPMD_OP
  }
  return false;
}

}  // namespace

Attrs decode_attrs(const DecodeContext& context, OpCode code, const ir::Op& op) {
  Attrs attrs = decode_any(context, op);
  if (!fits(code, attrs)) {
    context.fail(fmt::format("{} with the attributes of another op", name_of(code)));
  }
  return attrs;
}

}  // namespace spmd::serialize_internal
