#include "ir/serialize/encode.h"
#include "support/error.h"

namespace spmd::serialize_internal {
namespace {

void encode(const CollectiveGroups& groups, ir::Groups& to) {
  serialize_internal::encode(groups.axes, *to.mutable_axes());
  for (const auto& group : groups.explicit_groups) {
    serialize_internal::encode(group, *to.add_groups()->mutable_devices());
  }
}

void encode(const DotAttrs& a, ir::Dot& to) {
  serialize_internal::encode(a.lhs_batch, *to.mutable_lhs_batch());
  serialize_internal::encode(a.rhs_batch, *to.mutable_rhs_batch());
  serialize_internal::encode(a.lhs_contracting, *to.mutable_lhs_contracting());
  serialize_internal::encode(a.rhs_contracting, *to.mutable_rhs_contracting());
  for (Precision precision : a.precision) to.add_precision(static_cast<uint32_t>(precision));
  if (!a.algorithm) return;
  ir::Dot::Algorithm& algorithm = *to.mutable_algorithm();
  algorithm.set_lhs(std::string(name_of(a.algorithm->lhs)));
  algorithm.set_rhs(std::string(name_of(a.algorithm->rhs)));
  algorithm.set_accumulation(std::string(name_of(a.algorithm->accumulation)));
  algorithm.set_lhs_components(a.algorithm->lhs_components);
  algorithm.set_rhs_components(a.algorithm->rhs_components);
  algorithm.set_primitive_operations(a.algorithm->primitive_operations);
  algorithm.set_allow_imprecise_accumulation(a.algorithm->allow_imprecise_accumulation);
}

void encode(const ConvolutionAttrs& a, ir::Convolution& to) {
  to.set_input_batch(a.input_batch);
  to.set_input_feature(a.input_feature);
  serialize_internal::encode(a.input_spatial, *to.mutable_input_spatial());
  to.set_kernel_input_feature(a.kernel_input_feature);
  to.set_kernel_output_feature(a.kernel_output_feature);
  serialize_internal::encode(a.kernel_spatial, *to.mutable_kernel_spatial());
  to.set_output_batch(a.output_batch);
  to.set_output_feature(a.output_feature);
  serialize_internal::encode(a.output_spatial, *to.mutable_output_spatial());
  serialize_internal::encode(a.stride, *to.mutable_stride());
  serialize_internal::encode(a.pad_low, *to.mutable_pad_low());
  serialize_internal::encode(a.pad_high, *to.mutable_pad_high());
  serialize_internal::encode(a.lhs_dilation, *to.mutable_lhs_dilation());
  serialize_internal::encode(a.rhs_dilation, *to.mutable_rhs_dilation());
  for (bool reversed : a.reversal) to.add_reversal(reversed);
  to.set_feature_group_count(a.feature_group_count);
  to.set_batch_group_count(a.batch_group_count);
  for (Precision precision : a.precision) to.add_precision(static_cast<uint32_t>(precision));
}

void encode(const WindowAttrs& a, ir::Window& to) {
  serialize_internal::encode(a.size, *to.mutable_size());
  serialize_internal::encode(a.stride, *to.mutable_stride());
  serialize_internal::encode(a.base_dilation, *to.mutable_base_dilation());
  serialize_internal::encode(a.window_dilation, *to.mutable_window_dilation());
  serialize_internal::encode(a.pad_low, *to.mutable_pad_low());
  serialize_internal::encode(a.pad_high, *to.mutable_pad_high());
}

void encode(const GatherAttrs& a, ir::Gather& to) {
  serialize_internal::encode(a.offset_dims, *to.mutable_offset_dims());
  serialize_internal::encode(a.collapsed_slice_dims, *to.mutable_collapsed_slice_dims());
  serialize_internal::encode(a.operand_batching_dims, *to.mutable_operand_batching_dims());
  serialize_internal::encode(a.start_indices_batching_dims,
                             *to.mutable_start_indices_batching_dims());
  serialize_internal::encode(a.start_index_map, *to.mutable_start_index_map());
  to.set_index_vector_dim(a.index_vector_dim);
  serialize_internal::encode(a.slice_sizes, *to.mutable_slice_sizes());
  to.set_indices_are_sorted(a.indices_are_sorted);
}

void encode(const ScatterAttrs& a, ir::Scatter& to) {
  serialize_internal::encode(a.update_window_dims, *to.mutable_update_window_dims());
  serialize_internal::encode(a.inserted_window_dims, *to.mutable_inserted_window_dims());
  serialize_internal::encode(a.input_batching_dims, *to.mutable_input_batching_dims());
  serialize_internal::encode(a.scatter_indices_batching_dims,
                             *to.mutable_scatter_indices_batching_dims());
  serialize_internal::encode(a.scatter_dims_to_operand_dims,
                             *to.mutable_scatter_dims_to_operand_dims());
  to.set_index_vector_dim(a.index_vector_dim);
  to.set_indices_are_sorted(a.indices_are_sorted);
  to.set_unique_indices(a.unique_indices);
}

// One overload per attribute struct.
struct Encoder {
  TypeTable& types;
  ir::Op& to;

  void operator()(const NoAttrs&) const {}
  void operator()(const CompareAttrs& a) const {
    to.mutable_compare()->set_direction(static_cast<uint32_t>(a.direction));
    to.mutable_compare()->set_type(static_cast<uint32_t>(a.type));
  }
  void operator()(const ReducePrecisionAttrs& a) const {
    to.mutable_reduce_precision()->set_exponent_bits(a.exponent_bits);
    to.mutable_reduce_precision()->set_mantissa_bits(a.mantissa_bits);
  }
  void operator()(const ConstantAttrs& a) const {
    ir::Literal& literal = *to.mutable_constant();
    literal.set_type(types.index_of(a.value.type()));
    literal.set_splat(a.value.is_splat());
    if (!a.value.empty()) literal.set_data(a.value.data(), a.value.stored_bytes());
  }
  void operator()(const IotaAttrs& a) const { to.mutable_iota()->set_value(a.dim); }
  void operator()(const BroadcastInDimAttrs& a) const {
    serialize_internal::encode(a.dims, *to.mutable_broadcast_in_dim()->mutable_sizes());
  }
  void operator()(const ConcatenateAttrs& a) const { to.mutable_concatenate()->set_value(a.dim); }
  void operator()(const PadAttrs& a) const {
    serialize_internal::encode(a.low, *to.mutable_pad()->mutable_low());
    serialize_internal::encode(a.high, *to.mutable_pad()->mutable_high());
    serialize_internal::encode(a.interior, *to.mutable_pad()->mutable_interior());
  }
  void operator()(const ReverseAttrs& a) const {
    serialize_internal::encode(a.dims, *to.mutable_reverse()->mutable_sizes());
  }
  void operator()(const SliceAttrs& a) const {
    serialize_internal::encode(a.start, *to.mutable_slice()->mutable_start());
    serialize_internal::encode(a.limit, *to.mutable_slice()->mutable_limit());
    serialize_internal::encode(a.stride, *to.mutable_slice()->mutable_stride());
  }
  void operator()(const TransposeAttrs& a) const {
    serialize_internal::encode(a.permutation, *to.mutable_transpose()->mutable_sizes());
  }
  void operator()(const DotAttrs& a) const { encode(a, *to.mutable_dot()); }
  void operator()(const ConvolutionAttrs& a) const { encode(a, *to.mutable_convolution()); }
  void operator()(const AttentionAttrs& a) const {
    to.mutable_attention()->set_scale(a.scale);
    to.mutable_attention()->set_causal(a.causal);
  }
  void operator()(const FftAttrs& a) const {
    to.mutable_fft()->set_kind(static_cast<uint32_t>(a.kind));
    serialize_internal::encode(a.length, *to.mutable_fft()->mutable_length());
  }
  void operator()(const CholeskyAttrs& a) const { to.set_cholesky(a.lower); }
  void operator()(const TriangularSolveAttrs& a) const {
    ir::TriangularSolve& solve = *to.mutable_triangular_solve();
    solve.set_left_side(a.left_side);
    solve.set_lower(a.lower);
    solve.set_unit_diagonal(a.unit_diagonal);
    solve.set_transpose_a(static_cast<uint32_t>(a.transpose_a));
  }
  void operator()(const ReduceAttrs& a) const {
    serialize_internal::encode(a.dims, *to.mutable_reduce()->mutable_sizes());
  }
  void operator()(const WindowAttrs& a) const { encode(a, *to.mutable_window()); }
  void operator()(const DynamicSliceAttrs& a) const {
    serialize_internal::encode(a.sizes, *to.mutable_dynamic_slice()->mutable_sizes());
  }
  void operator()(const GatherAttrs& a) const { encode(a, *to.mutable_gather()); }
  void operator()(const ScatterAttrs& a) const { encode(a, *to.mutable_scatter()); }
  void operator()(const SortAttrs& a) const {
    to.mutable_sort()->set_dim(a.dim);
    to.mutable_sort()->set_is_stable(a.is_stable);
  }
  void operator()(const TopKAttrs& a) const { to.mutable_top_k()->set_value(a.k); }
  void operator()(const RngBitGeneratorAttrs& a) const {
    to.mutable_rng_bit_generator()->set_algorithm(static_cast<uint32_t>(a.algorithm));
  }
  void operator()(const CallAttrs& a) const { to.set_call(static_cast<uint32_t>(a.callee)); }
  void operator()(const CustomCallAttrs& a) const {
    ir::CustomCall& call = *to.mutable_custom_call();
    call.set_target(a.target);
    call.set_backend_config(a.backend_config);
    call.set_has_side_effect(a.has_side_effect);
    for (const auto& [key, value] : a.frontend_attributes) {
      ir::CustomCall::Entry& entry = *call.add_frontend_attributes();
      entry.set_key(key);
      entry.set_value(value);
    }
  }
  void operator()(const AllGatherAttrs& a) const {
    to.mutable_all_gather()->set_dim(a.dim);
    encode(a.groups, *to.mutable_all_gather()->mutable_groups());
  }
  void operator()(const AllReduceAttrs& a) const { encode(a.groups, *to.mutable_all_reduce()); }
  void operator()(const ReduceScatterAttrs& a) const {
    to.mutable_reduce_scatter()->set_dim(a.dim);
    encode(a.groups, *to.mutable_reduce_scatter()->mutable_groups());
  }
  void operator()(const AllToAllAttrs& a) const {
    to.mutable_all_to_all()->set_split_dim(a.split_dim);
    to.mutable_all_to_all()->set_concat_dim(a.concat_dim);
    encode(a.groups, *to.mutable_all_to_all()->mutable_groups());
  }
  void operator()(const CollectivePermuteAttrs& a) const {
    ir::CollectivePermute& permute = *to.mutable_collective_permute();
    serialize_internal::encode(a.axes, *permute.mutable_axes());
    for (const RankPairs::Run& run : a.source_target_pairs.runs()) {
      ir::CollectivePermute::Run& to_run = *permute.add_runs();
      to_run.set_source(run.source);
      to_run.set_target(run.target);
      to_run.set_count(run.count);
      to_run.set_source_step(run.source_step);
      to_run.set_target_step(run.target_step);
    }
  }
  void operator()(const AxisIndexAttrs& a) const {
    serialize_internal::encode(a.axes, *to.mutable_axis_index()->mutable_axes());
  }
  void operator()(const ManualComputationAttrs& a) const {
    ir::ManualComputation& manual = *to.mutable_manual_computation();
    for (const Sharding& each : a.in_shardings) {
      serialize_internal::encode(each, *manual.add_in_shardings());
    }
    for (const Sharding& each : a.out_shardings) {
      serialize_internal::encode(each, *manual.add_out_shardings());
    }
    serialize_internal::encode(a.manual_axes, *manual.mutable_manual_axes());
  }
  void operator()(const ReshardAttrs& a) const {
    serialize_internal::encode(a.sharding, *to.mutable_reshard());
  }
  void operator()(const PropagationBarrierAttrs& a) const {
    to.set_propagation_barrier(static_cast<uint32_t>(a.allowed));
  }
  void operator()(const ShardingGroupAttrs& a) const {
    to.mutable_sharding_group()->set_value(a.group);
  }
  // What is left are ops that readers have rewritten.
  template <typename Expanded>
  void operator()(const Expanded&) const {
    SPMD_UNREACHABLE("an op that should have been expanded");
  }
};

}  // namespace

void encode_attrs(const Attrs& attrs, TypeTable& types, ir::Op& to) {
  std::visit(Encoder{types, to}, attrs);
}

}  // namespace spmd::serialize_internal
