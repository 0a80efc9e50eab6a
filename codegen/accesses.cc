#include "codegen/accesses.h"

#include <algorithm>

namespace spmd::codegen {
namespace {

using Visit = std::function<void(plan::View&, bool)>;
using Views = google::protobuf::RepeatedPtrField<plan::View>;

void reads(Views* views, const Visit& visit) {
  for (plan::View& view : *views) visit(view, false);
}
void writes(Views* views, const Visit& visit) {
  for (plan::View& view : *views) visit(view, true);
}

// Messages with inputs, inits and outputs.
template <typename Step>
void visit_reduction(Step& step, const Visit& visit) {
  reads(step.mutable_inputs(), visit);
  reads(step.mutable_inits(), visit);
  writes(step.mutable_outputs(), visit);
}

// Messages with inputs and outputs.
template <typename Step>
void visit_map(Step& step, const Visit& visit) {
  reads(step.mutable_inputs(), visit);
  writes(step.mutable_outputs(), visit);
}

void visit_scatter(plan::Scatter& step, const Visit& visit) {
  reads(step.mutable_operands(), visit);
  visit(*step.mutable_indices(), false);
  reads(step.mutable_updates(), visit);
  writes(step.mutable_outs(), visit);
}

void visit_collective(plan::Collective& step, const Visit& visit) {
  for (plan::Collective::Part& part : *step.mutable_parts()) {
    visit(*part.mutable_in(), false);
    visit(*part.mutable_out(), true);
  }
}

}  // namespace

void for_each_view(plan::Step& step, const Visit& visit) {
  const auto each = [&](std::initializer_list<plan::View*> inputs,
                        std::initializer_list<plan::View*> outputs) {
    for (plan::View* view : inputs) visit(*view, false);
    for (plan::View* view : outputs) visit(*view, true);
  };
  switch (step.kind_case()) {
    case plan::Step::kElementwise:
      return visit_map(*step.mutable_elementwise(), visit);
    case plan::Step::kReduce:
      return visit_reduction(*step.mutable_reduce(), visit);
    case plan::Step::kDot: {
      plan::Dot& dot = *step.mutable_dot();
      return each({dot.mutable_lhs(), dot.mutable_rhs()}, {dot.mutable_out()});
    }
    case plan::Step::kConvolution: {
      plan::Convolution& conv = *step.mutable_convolution();
      return each({conv.mutable_input(), conv.mutable_kernel()}, {conv.mutable_out()});
    }
    case plan::Step::kGather: {
      plan::Gather& gather = *step.mutable_gather();
      return each({gather.mutable_operand(), gather.mutable_indices()}, {gather.mutable_out()});
    }
    case plan::Step::kScatter:
      return visit_scatter(*step.mutable_scatter(), visit);
    case plan::Step::kDynamicSlice: {
      plan::DynamicSlice& slice = *step.mutable_dynamic_slice();
      reads(slice.mutable_starts(), visit);
      return each({slice.mutable_operand()}, {slice.mutable_out()});
    }
    case plan::Step::kDynamicUpdateSlice: {
      plan::DynamicUpdateSlice& update = *step.mutable_dynamic_update_slice();
      reads(update.mutable_starts(), visit);
      return each({update.mutable_operand(), update.mutable_update()}, {update.mutable_out()});
    }
    case plan::Step::kReduceWindow:
      return visit_reduction(*step.mutable_reduce_window(), visit);
    case plan::Step::kSelectAndScatter: {
      plan::SelectAndScatter& s = *step.mutable_select_and_scatter();
      return each({s.mutable_operand(), s.mutable_source(), s.mutable_init()}, {s.mutable_out()});
    }
    case plan::Step::kSort:
      return visit_map(*step.mutable_sort(), visit);
    case plan::Step::kRngBitGenerator: {
      plan::RngBitGenerator& rng = *step.mutable_rng_bit_generator();
      return each({rng.mutable_state()}, {rng.mutable_state_out(), rng.mutable_out()});
    }
    case plan::Step::kAxisIndex:
      return each({}, {step.mutable_axis_index()->mutable_out()});
    case plan::Step::kCollective:
      return visit_collective(*step.mutable_collective(), visit);
    case plan::Step::kWhile:
      return each({step.mutable_while_()->mutable_predicate()}, {});
    case plan::Step::kBranch:
      return each({step.mutable_branch()->mutable_index()}, {});
    case plan::Step::kTopK: {
      plan::TopK& top = *step.mutable_top_k();
      return each({top.mutable_operand()}, {top.mutable_values(), top.mutable_indices()});
    }
    case plan::Step::kFft:
      return each({step.mutable_fft()->mutable_in()}, {step.mutable_fft()->mutable_out()});
    case plan::Step::kCholesky: {
      plan::Cholesky& cholesky = *step.mutable_cholesky();
      return each({cholesky.mutable_in()}, {cholesky.mutable_out()});
    }
    case plan::Step::kTriangularSolve: {
      plan::TriangularSolve& solve = *step.mutable_triangular_solve();
      return each({solve.mutable_a(), solve.mutable_b()}, {solve.mutable_out()});
    }
    case plan::Step::kFused:
      for (plan::Step& inner : *step.mutable_fused()->mutable_steps()) for_each_view(inner, visit);
      return;
    case plan::Step::KIND_NOT_SET:
      return;
  }
}

namespace {

using Sizes = google::protobuf::RepeatedField<int64_t>;

std::vector<int64_t> joined(std::initializer_list<const Sizes*> parts) {
  std::vector<int64_t> shape;
  for (const Sizes* part : parts) shape.insert(shape.end(), part->begin(), part->end());
  return shape;
}

std::vector<int64_t> kept_dims(const plan::Reduce& reduce) {
  std::vector<int64_t> shape;
  for (int d = 0; d < reduce.shape_size(); ++d)
    if (std::find(reduce.dims().begin(), reduce.dims().end(), d) == reduce.dims().end())
      shape.push_back(reduce.shape(d));
  return shape;
}

}  // namespace

plan::View* strided_output(plan::Step& step, const std::function<bool(int)>& is_buffer,
                           std::vector<int64_t>* shape) {
  plan::View* output = nullptr;
  int accesses = 0;
  for_each_view(step, [&](plan::View& view, bool writes) {
    if (!is_buffer(view.buffer())) return;
    ++accesses;
    if (writes) output = &view;
  });
  if (output == nullptr || accesses != 1) return nullptr;
  switch (step.kind_case()) {
    case plan::Step::kElementwise:
      *shape = joined({&step.elementwise().shape()});
      return output;
    case plan::Step::kReduce:
      *shape = kept_dims(step.reduce());
      return output;
    case plan::Step::kDot:
      *shape = joined({&step.dot().batch(), &step.dot().m(), &step.dot().n()});
      return output;
    case plan::Step::kConvolution:
    case plan::Step::kGather:
    case plan::Step::kDynamicSlice:
      *shape = joined({&output->shape()});
      return output;
    default:
      return nullptr;
  }
}

std::vector<plan::Sequence*> sequences_of(plan::Step& step) {
  std::vector<plan::Sequence*> result;
  if (step.has_while_()) {
    result = {step.mutable_while_()->mutable_condition(), step.mutable_while_()->mutable_body()};
  } else if (step.has_branch()) {
    for (plan::Sequence& branch : *step.mutable_branch()->mutable_branches())
      result.push_back(&branch);
  }
  return result;
}

}  // namespace spmd::codegen
