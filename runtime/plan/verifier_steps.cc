#include <algorithm>
#include <set>

#include "runtime/plan/dtype.h"
#include "runtime/plan/verifier.h"

namespace spmd::plan {
namespace {

bool is_index(DType dtype) { return is_integer(dtype); }

}  // namespace

void Verifier::elementwise(const Elementwise& step) {
  const Shape shape = checked_shape(step.shape());
  program(step.program(), step.inputs_size(), step.outputs_size());
  expect(step.outputs_size() > 0, "no output");
  for (const View& input : step.inputs()) view(input, &shape);
  for (const View& output : step.outputs()) view(output, &shape);
  for (int i = 0; i < step.inputs_size(); ++i)
    expect(step.inputs(i).dtype() == step.program().inputs(i),
           "an input's type differs from what the scalar program takes");
  for (const Instruction& instruction : step.program().instructions())
    if (instruction.op() == IOTA)
      expect(instruction.immediate() >= 0 &&
                 instruction.immediate() < static_cast<int64_t>(shape.size()),
             "an iota along a dimension that does not exist");
}

void Verifier::reduce(const Reduce& step) {
  const Shape shape = checked_shape(step.shape());
  dims(step.dims(), static_cast<int64_t>(shape.size()), "the reduction");
  const std::set<int64_t> reduced(step.dims().begin(), step.dims().end());
  Shape kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!reduced.count(static_cast<int64_t>(d))) kept.push_back(shape[d]);
  reducer(step.op(), step.program(), step.inputs_size());
  expect(step.inits_size() == step.inputs_size() && step.outputs_size() == step.inputs_size(),
         "inputs, initial values and outputs differ in number");
  for (int i = 0; i < step.inputs_size(); ++i) {
    view(step.inputs(i), &shape);
    scalar_view(step.inits(i));
    view(step.outputs(i), &kept);
    expect(step.inits(i).dtype() == step.outputs(i).dtype() &&
               step.inputs(i).dtype() == step.outputs(i).dtype(),
           "input, initial value and output differ in type");
  }
}

void Verifier::dot(const Dot& step) {
  const Shape batch = checked_shape(step.batch()), m = checked_shape(step.m()),
              n = checked_shape(step.n()), k = checked_shape(step.k());
  const auto join = [](Shape a, const Shape& b, const Shape& c) {
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    return a;
  };
  const Shape lhs = join(batch, m, k), rhs = join(batch, n, k), out = join(batch, m, n);
  view(step.lhs(), &lhs);
  view(step.rhs(), &rhs);
  view(step.out(), &out);
  if (step.has_epilogue()) epilogue(step, out);
}

void Verifier::epilogue(const Dot& dot, const Shape& out) {
  const DotEpilogue& epilogue = dot.epilogue();
  expect(epilogue.map().has_elementwise(), "a product's epilogue is not elementwise");
  const Elementwise& map = epilogue.map().elementwise();
  elementwise(map);
  kernel(epilogue.map());
  const auto is_among = [](const auto& views, const View& wanted) {
    return std::any_of(views.begin(), views.end(), [&](const View& v) {
      return v.buffer() == wanted.buffer() && v.offset() == wanted.offset();
    });
  };
  const bool is_gradient = epilogue.activation() == DotEpilogue::GELU_GRADIENT;
  const bool writes_preactivation = epilogue.has_preactivation() && !is_gradient;
  expect(map.outputs_size() == (writes_preactivation ? 2 : 1) &&
             is_among(map.outputs(), epilogue.out()),
         "a product's epilogue writes elsewhere");
  expect(DotEpilogue::Activation_IsValid(epilogue.activation()), "an activation is not known");
  view(epilogue.out(), &out);
  if (epilogue.has_preactivation()) {
    expect(epilogue.activation() == DotEpilogue::GELU || is_gradient,
           "an epilogue without GELU has a preactivation");
    view(epilogue.preactivation(), &out);
    expect(is_gradient ? is_among(map.inputs(), epilogue.preactivation())
                       : is_among(map.outputs(), epilogue.preactivation()),
           "an epilogue's preactivation lies elsewhere");
  } else {
    expect(!is_gradient, "the gradient of GELU has no preactivation");
  }
  for (const int32_t number : {epilogue.bias(), epilogue.residual()})
    expect(number >= 0 && number <= map.inputs_size(), "an epilogue's operand does not exist");
}

void Verifier::convolution(const Convolution& step) {
  const Shape input = view(step.input()), kernel = view(step.kernel()), out = view(step.out());
  const size_t rank = input.size();
  expect(rank >= 2 && kernel.size() == rank && out.size() == rank, "ranks differ");
  window(step.window(), static_cast<int64_t>(rank) - 2);
  const int64_t groups = step.feature_groups(), batches = step.batch_groups();
  expect(groups >= 1 && batches >= 1 && (groups == 1 || batches == 1),
         "feature groups and batch groups");
  expect(input[1] == kernel[1] * groups && input[0] == out[0] * batches && kernel[0] == out[1] &&
             kernel[0] % groups == 0 && kernel[0] % batches == 0,
         "features and batches do not fit");
  for (size_t d = 2; d < rank; ++d) {
    const int i = static_cast<int>(d) - 2;
    expect(step.window().size(i) == kernel[d], "the window differs from the kernel");
  }
}

void Verifier::gather(const Gather& step) {
  const Shape operand = view(step.operand()), indices = view(step.indices()),
              out = view(step.out());
  const int64_t rank = static_cast<int64_t>(operand.size());
  const int64_t index_rank = static_cast<int64_t>(indices.size());
  expect(is_index(step.indices().dtype()), "indices are not integers");
  expect(step.operand().dtype() == step.out().dtype(), "operand and result differ in type");
  dims(step.offset_dims(), static_cast<int64_t>(out.size()), "offset_dims");
  dims(step.collapsed_slice_dims(), rank, "collapsed_slice_dims");
  dims(step.operand_batching_dims(), rank, "operand_batching_dims");
  dims(step.start_indices_batching_dims(), index_rank, "start_indices_batching_dims");
  dims(step.start_index_map(), rank, "start_index_map");
  expect(step.index_vector_dim() >= 0 && step.index_vector_dim() <= index_rank,
         "index_vector_dim out of range");
  const int64_t vector = step.index_vector_dim() == index_rank
                             ? 1
                             : indices[static_cast<size_t>(step.index_vector_dim())];
  expect(step.start_index_map_size() == vector, "start_index_map and index vector differ");
  expect(step.slice_sizes_size() == rank, "slice_sizes has not one entry per dimension");
  expect(step.operand_batching_dims_size() == step.start_indices_batching_dims_size(),
         "batching dimensions differ in number");
  expect(step.offset_dims_size() + step.collapsed_slice_dims_size() +
                 step.operand_batching_dims_size() ==
             rank,
         "offset, collapsed and batching dimensions are not the operand's");
  const int64_t batch_rank = index_rank - (step.index_vector_dim() < index_rank ? 1 : 0);
  expect(static_cast<int64_t>(out.size()) == batch_rank + step.offset_dims_size(),
         "the result's rank does not fit");
  for (int d = 0; d < rank; ++d)
    expect(step.slice_sizes(d) >= 0 && step.slice_sizes(d) <= operand[static_cast<size_t>(d)],
           "a slice larger than its operand");
  // Sizes of the result: offset dimensions are slice sizes, the others are the indices'.
  const std::set<int64_t> offsets(step.offset_dims().begin(), step.offset_dims().end());
  std::set<int64_t> dropped(step.collapsed_slice_dims().begin(), step.collapsed_slice_dims().end());
  dropped.insert(step.operand_batching_dims().begin(), step.operand_batching_dims().end());
  Shape slice, batch;
  for (int d = 0; d < rank; ++d) {
    if (dropped.count(d)) {
      expect(step.slice_sizes(d) <= 1, "a collapsed slice dimension is not 1");
    } else {
      slice.push_back(step.slice_sizes(d));
    }
  }
  for (int64_t d = 0; d < index_rank; ++d)
    if (d != step.index_vector_dim()) batch.push_back(indices[static_cast<size_t>(d)]);
  size_t next_slice = 0, next_batch = 0;
  for (size_t d = 0; d < out.size(); ++d)
    expect(out[d] ==
               (offsets.count(static_cast<int64_t>(d)) ? slice[next_slice++] : batch[next_batch++]),
           "the result's shape does not fit");
  for (int i = 0; i < step.operand_batching_dims_size(); ++i)
    expect(operand[static_cast<size_t>(step.operand_batching_dims(i))] ==
                   indices[static_cast<size_t>(step.start_indices_batching_dims(i))] &&
               step.start_indices_batching_dims(i) != step.index_vector_dim(),
           "batching dimensions differ in size");
}

void Verifier::scatter(const Scatter& step) {
  expect(step.operands_size() > 0 && step.updates_size() == step.operands_size() &&
             step.outs_size() == step.operands_size(),
         "operands, updates and results differ in number");
  const Shape indices = view(step.indices());
  const int64_t index_rank = static_cast<int64_t>(indices.size());
  expect(is_index(step.indices().dtype()), "indices are not integers");
  const Shape operand = view(step.operands(0)), update = view(step.updates(0));
  const int64_t rank = static_cast<int64_t>(operand.size());
  for (int i = 0; i < step.operands_size(); ++i) {
    expect(view(step.operands(i)) == operand && view(step.outs(i)) == operand &&
               view(step.updates(i)) == update,
           "operands or updates differ in shape");
    expect(step.operands(i).dtype() == step.outs(i).dtype() &&
               step.operands(i).dtype() == step.updates(i).dtype(),
           "operand, update and result differ in type");
  }
  reducer(step.op(), step.program(), step.operands_size());
  dims(step.update_window_dims(), static_cast<int64_t>(update.size()), "update_window_dims");
  dims(step.inserted_window_dims(), rank, "inserted_window_dims");
  dims(step.input_batching_dims(), rank, "input_batching_dims");
  dims(step.scatter_indices_batching_dims(), index_rank, "scatter_indices_batching_dims");
  dims(step.scatter_dims_to_operand_dims(), rank, "scatter_dims_to_operand_dims");
  expect(step.index_vector_dim() >= 0 && step.index_vector_dim() <= index_rank,
         "index_vector_dim out of range");
  const int64_t vector = step.index_vector_dim() == index_rank
                             ? 1
                             : indices[static_cast<size_t>(step.index_vector_dim())];
  expect(step.scatter_dims_to_operand_dims_size() == vector,
         "scatter_dims_to_operand_dims and index vector differ");
  expect(step.update_window_dims_size() + step.inserted_window_dims_size() +
                 step.input_batching_dims_size() ==
             rank,
         "window, inserted and batching dimensions are not the operand's");
  expect(step.input_batching_dims_size() == step.scatter_indices_batching_dims_size(),
         "batching dimensions differ in number");
  Shape batch;
  for (int64_t d = 0; d < index_rank; ++d)
    if (d != step.index_vector_dim()) batch.push_back(indices[static_cast<size_t>(d)]);
  expect(update.size() == batch.size() + static_cast<size_t>(step.update_window_dims_size()),
         "the updates' rank does not fit");
  const std::set<int64_t> windows(step.update_window_dims().begin(),
                                  step.update_window_dims().end());
  size_t next_batch = 0;
  for (size_t d = 0; d < update.size(); ++d)
    if (!windows.count(static_cast<int64_t>(d)))
      expect(update[d] == batch[next_batch++], "the updates' shape does not fit");
  for (int64_t d : step.scatter_indices_batching_dims())
    expect(d != step.index_vector_dim(), "the index vector is a batching dimension");
}

void Verifier::dynamic_slice(const View& whole, const View& part,
                             const google::protobuf::RepeatedPtrField<View>& starts) {
  const Shape outer = view(whole), inner = view(part);
  expect(outer.size() == inner.size() && static_cast<size_t>(starts.size()) == outer.size(),
         "ranks differ");
  expect(whole.dtype() == part.dtype(), "types differ");
  for (size_t d = 0; d < outer.size(); ++d)
    expect(inner[d] <= outer[d], "the slice is larger than its operand");
  for (const View& start : starts) {
    scalar_view(start);
    expect(is_index(start.dtype()), "a start index is not an integer");
  }
}

void Verifier::reduce_window(const ReduceWindow& step) {
  reducer(step.op(), step.program(), step.inputs_size());
  expect(step.inits_size() == step.inputs_size() && step.outputs_size() == step.inputs_size(),
         "inputs, initial values and outputs differ in number");
  const Shape shape = view(step.inputs(0)), out = view(step.outputs(0));
  expect(shape.size() == out.size(), "ranks differ");
  window(step.window(), static_cast<int64_t>(shape.size()));
  for (int i = 0; i < step.inputs_size(); ++i) {
    expect(view(step.inputs(i)) == shape && view(step.outputs(i)) == out, "shapes differ");
    scalar_view(step.inits(i));
    expect(step.inits(i).dtype() == step.outputs(i).dtype() &&
               step.inputs(i).dtype() == step.outputs(i).dtype(),
           "input, initial value and output differ in type");
  }
}

void Verifier::select_and_scatter(const SelectAndScatter& step) {
  const Shape operand = view(step.operand()), source = view(step.source());
  expect(view(step.out()) == operand, "the result's shape differs from the operand's");
  expect(source.size() == operand.size(), "ranks differ");
  window(step.window(), static_cast<int64_t>(operand.size()));
  scalar_view(step.init());
  program(step.select(), 2, 1);
  program(step.scatter(), 2, 1);
  const DType dtype = step.operand().dtype();
  expect(
      step.source().dtype() == dtype && step.init().dtype() == dtype && step.out().dtype() == dtype,
      "types differ");
}

void Verifier::sort(const Sort& step) {
  const Shape shape = checked_shape(step.shape());
  expect(step.dim() >= 0 && step.dim() < static_cast<int64_t>(shape.size()),
         "sorts along a dimension that does not exist");
  expect(step.inputs_size() > 0 && step.outputs_size() == step.inputs_size(),
         "inputs and outputs differ in number");
  program(step.comparator(), 2 * step.inputs_size(), 1);
  for (int i = 0; i < step.inputs_size(); ++i) {
    view(step.inputs(i), &shape);
    view(step.outputs(i), &shape);
    expect(step.inputs(i).dtype() == step.outputs(i).dtype() &&
               step.comparator().inputs(2 * i) == step.inputs(i).dtype() &&
               step.comparator().inputs(2 * i + 1) == step.inputs(i).dtype(),
           "types differ");
  }
}

void Verifier::top_k(const TopK& step) {
  Shape shape = view(step.operand());
  expect(!shape.empty() && step.k() >= 0 && step.k() <= shape.back(), "k out of range");
  shape.back() = step.k();
  expect(view(step.values()) == shape && view(step.indices()) == shape,
         "the results' shape does not fit");
  expect(step.values().dtype() == step.operand().dtype() && step.indices().dtype() == S32,
         "types differ");
}

void Verifier::rng(const RngBitGenerator& step) {
  expect(step.algorithm() == RngBitGenerator::DEFAULT ||
             step.algorithm() == RngBitGenerator::THREE_FRY ||
             step.algorithm() == RngBitGenerator::PHILOX,
         "an unknown random number algorithm");
  const Shape state = view(step.state());
  expect(step.state().dtype() == U64 && state.size() == 1 &&
             (state[0] == 2 || (state[0] == 3 && step.algorithm() != RngBitGenerator::THREE_FRY)),
         "the state is not a vector of 2 or 3 U64");
  expect(step.state_out().dtype() == U64 && view(step.state_out()) == state,
         "the new state's type differs from the old one's");
  view(step.out());
  expect(is_integer(step.out().dtype()) || is_float(step.out().dtype()),
         "random bits are neither integers nor floats");
}

void Verifier::collective(const Collective& step) {
  int64_t group = axes(step.axes());
  if (step.groups_size() > 0) {
    std::set<int64_t> seen;
    group = step.groups(0).devices_size();
    for (const Collective::Group& members : step.groups()) {
      expect(members.devices_size() == group && group > 0, "groups differ in size");
      for (int64_t device : members.devices())
        expect(device >= 0 && device < devices_ && seen.insert(device).second,
               "a device is in two groups, or does not exist");
    }
    expect(static_cast<int64_t>(seen.size()) == devices_, "a device is in no group");
  }
  if (step.kind() == Collective::PERMUTE) {
    const int64_t bound = step.axes().axes_size() == 0 ? devices_ : group;
    const auto exists = [&](const RankPairs::Pair& pair) {
      return std::max(pair.first, pair.second) < bound;
    };
    const std::optional<RankPairs> pairs = pairs_of(step);
    const bool sound =
        pairs && std::all_of(pairs->runs().begin(), pairs->runs().end(),
                             [&](const auto& r) { return exists(r.pair(0)) && exists(r.last()); });
    expect(sound && !pairs->repeated_source() && !pairs->repeated_target(),
           "a pair names a device that does not exist, or twice");
  }
  if (step.kind() == Collective::ALL_REDUCE || step.kind() == Collective::REDUCE_SCATTER)
    expect(step.reduction() == ADD || step.reduction() == MAXIMUM || step.reduction() == MINIMUM ||
               step.reduction() == MULTIPLY || step.reduction() == AND || step.reduction() == OR,
           "an unknown reduction");
  expect(step.parts_size() > 0, "no tensors");
  for (const Collective::Part& part : step.parts()) collective_part(step, part, group);
}

void Verifier::collective_part(const Collective& step, const Collective::Part& part,
                               int64_t group) {
  Shape in = view(part.in());
  const Shape out = view(part.out());
  expect(part.in().dtype() == part.out().dtype(), "types differ");
  for (const View* v : {&part.in(), &part.out()}) {
    int64_t stride = 1;
    for (int d = v->shape_size() - 1; d >= 0; --d) {
      expect(v->shape(d) == 1 || v->strides(d) == stride || element_count(v->shape()) == 0,
             "a tensor is not dense");
      stride *= v->shape(d);
    }
  }
  const auto along = [&](int64_t dim) -> int64_t& {
    expect(dim >= 0 && dim < static_cast<int64_t>(in.size()), "a dimension that does not exist");
    return in[static_cast<size_t>(dim)];
  };
  switch (step.kind()) {
    case Collective::ALL_GATHER:
      along(part.dim()) *= group;
      break;
    case Collective::REDUCE_SCATTER:
    case Collective::ALL_TO_ALL:
      expect(along(part.dim()) % group == 0, "the split dimension is no multiple of the group");
      along(part.dim()) /= group;
      if (step.kind() == Collective::ALL_TO_ALL) along(part.concat_dim()) *= group;
      break;
    case Collective::ALL_REDUCE:
    case Collective::PERMUTE:
      break;
    default:
      fail("an unknown collective");
  }
  expect(in == out, "the result's shape does not fit");
}

}  // namespace spmd::plan
