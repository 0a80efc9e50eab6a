#include "runtime/plan/accesses.h"

#include <algorithm>

namespace spmd::plan {
namespace {

using Visit = std::function<void(const View&, bool)>;
using Views = google::protobuf::RepeatedPtrField<View>;

void reads(const Views& views, const Visit& visit) {
  for (const View& view : views) visit(view, false);
}
void writes(const Views& views, const Visit& visit) {
  for (const View& view : views) visit(view, true);
}

// Messages with inputs, inits and outputs.
template <typename Step>
void visit_reduction(const Step& step, const Visit& visit) {
  reads(step.inputs(), visit);
  reads(step.inits(), visit);
  writes(step.outputs(), visit);
}

// Messages with inputs and outputs.
template <typename Step>
void visit_map(const Step& step, const Visit& visit) {
  reads(step.inputs(), visit);
  writes(step.outputs(), visit);
}

void visit_scatter(const Scatter& step, const Visit& visit) {
  reads(step.operands(), visit);
  visit(step.indices(), false);
  reads(step.updates(), visit);
  writes(step.outs(), visit);
}

void visit_collective(const Collective& step, const Visit& visit) {
  for (const Collective::Part& part : step.parts()) {
    visit(part.in(), false);
    visit(part.out(), true);
  }
}

}  // namespace

void for_each_view(const Step& step, const Visit& visit) {
  const auto each = [&](std::initializer_list<const View*> inputs,
                        std::initializer_list<const View*> outputs) {
    for (const View* view : inputs) visit(*view, false);
    for (const View* view : outputs) visit(*view, true);
  };
  switch (step.kind_case()) {
    case Step::kElementwise:
      return visit_map(step.elementwise(), visit);
    case Step::kReduce:
      return visit_reduction(step.reduce(), visit);
    case Step::kDot: {
      const Dot& dot = step.dot();
      each({&dot.lhs(), &dot.rhs()}, {&dot.out()});
      if (dot.has_epilogue()) for_each_view(dot.epilogue().map(), visit);
      return;
    }
    case Step::kConvolution: {
      const Convolution& conv = step.convolution();
      return each({&conv.input(), &conv.kernel()}, {&conv.out()});
    }
    case Step::kGather: {
      const Gather& gather = step.gather();
      return each({&gather.operand(), &gather.indices()}, {&gather.out()});
    }
    case Step::kScatter:
      return visit_scatter(step.scatter(), visit);
    case Step::kDynamicSlice: {
      const DynamicSlice& slice = step.dynamic_slice();
      reads(slice.starts(), visit);
      return each({&slice.operand()}, {&slice.out()});
    }
    case Step::kDynamicUpdateSlice: {
      const DynamicUpdateSlice& update = step.dynamic_update_slice();
      reads(update.starts(), visit);
      return each({&update.operand(), &update.update()}, {&update.out()});
    }
    case Step::kReduceWindow:
      return visit_reduction(step.reduce_window(), visit);
    case Step::kSelectAndScatter: {
      const SelectAndScatter& s = step.select_and_scatter();
      return each({&s.operand(), &s.source(), &s.init()}, {&s.out()});
    }
    case Step::kSort:
      return visit_map(step.sort(), visit);
    case Step::kRngBitGenerator: {
      const RngBitGenerator& rng = step.rng_bit_generator();
      return each({&rng.state()}, {&rng.state_out(), &rng.out()});
    }
    case Step::kAxisIndex:
      return each({}, {&step.axis_index().out()});
    case Step::kCollective:
      return visit_collective(step.collective(), visit);
    case Step::kWhile:
      return each({&step.while_().predicate()}, {});
    case Step::kBranch:
      return each({&step.branch().index()}, {});
    case Step::kTopK: {
      const TopK& top = step.top_k();
      return each({&top.operand()}, {&top.values(), &top.indices()});
    }
    case Step::kFft:
      return each({&step.fft().in()}, {&step.fft().out()});
    case Step::kCholesky: {
      const Cholesky& cholesky = step.cholesky();
      return each({&cholesky.in()}, {&cholesky.out()});
    }
    case Step::kTriangularSolve: {
      const TriangularSolve& solve = step.triangular_solve();
      return each({&solve.a(), &solve.b()}, {&solve.out()});
    }
    case Step::kAttention: {
      const Attention& a = step.attention();
      return each({&a.query(), &a.key(), &a.value()}, {&a.output(), &a.statistics()});
    }
    case Step::kAttentionBackward: {
      const AttentionBackward& a = step.attention_backward();
      return each({&a.query(), &a.key(), &a.value(), &a.output(), &a.statistics(), &a.d_output()},
                  {&a.d_query(), &a.d_key(), &a.d_value()});
    }
    case Step::kFused:
      for (const Step& inner : step.fused().steps()) for_each_view(inner, visit);
      return;
    case Step::kGrouped:
      for (const Step& member : step.grouped().steps()) for_each_view(member, visit);
      return;
    case Step::KIND_NOT_SET:
      return;
  }
}

void for_each_view(Step& step, const std::function<void(View&, bool writes)>& visit) {
  const Step& read_only = step;
  for_each_view(read_only, [&](const View& view, bool writes) {
    visit(const_cast<View&>(view), writes);  // of a step that may be changed
  });
}

namespace {

using Sizes = google::protobuf::RepeatedField<int64_t>;

std::vector<int64_t> joined(std::initializer_list<const Sizes*> parts) {
  std::vector<int64_t> shape;
  for (const Sizes* part : parts) shape.insert(shape.end(), part->begin(), part->end());
  return shape;
}

std::vector<int64_t> kept_dims(const Reduce& reduce) {
  std::vector<int64_t> shape;
  for (int d = 0; d < reduce.shape_size(); ++d)
    if (std::find(reduce.dims().begin(), reduce.dims().end(), d) == reduce.dims().end())
      shape.push_back(reduce.shape(d));
  return shape;
}

bool is_among(const Views& views, const View& view) {
  return std::any_of(views.begin(), views.end(), [&](const View& v) { return &v == &view; });
}

std::vector<int64_t> dot_shape(const Dot& dot, const View& view) {
  const Elementwise& map = dot.epilogue().map().elementwise();
  if (is_among(map.inputs(), view) || is_among(map.outputs(), view)) return joined({&map.shape()});
  if (&view == &dot.lhs()) return joined({&dot.batch(), &dot.m(), &dot.k()});
  if (&view == &dot.rhs()) return joined({&dot.batch(), &dot.n(), &dot.k()});
  return joined({&dot.batch(), &dot.m(), &dot.n()});
}

}  // namespace

std::vector<int64_t> view_shape(const Step& step, const View& view) {
  if (view.strides_size() == 0) return {};  // a scalar
  switch (step.kind_case()) {
    case Step::kElementwise:
      return joined({&step.elementwise().shape()});
    case Step::kReduce:
      return is_among(step.reduce().outputs(), view) ? kept_dims(step.reduce())
                                                     : joined({&step.reduce().shape()});
    case Step::kDot:
      return dot_shape(step.dot(), view);
    case Step::kSort:
      return joined({&step.sort().shape()});
    default:
      return joined({&view.shape()});
  }
}

int64_t distinct_elements(const Step& step, const View& view) {
  const std::vector<int64_t> shape = view_shape(step, view);
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if (view.strides(static_cast<int>(d)) != 0) count *= shape[d];
  return count;
}

}  // namespace spmd::plan
