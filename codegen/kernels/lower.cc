#include "codegen/kernels/lower.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "codegen/scalar.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reducer.h"
#include "support/error.h"

namespace spmd::codegen::kernels {
namespace {

// Thrown, within this file, at what cannot be compiled.
struct NotCompiled {};

void require(bool condition) {
  if (!condition) throw NotCompiled();
}

// Bytes that divide the address of a view on a buffer that is aligned to 64.
int alignment_of(const plan::View& view) {
  const int64_t bytes = view.offset() * plan::byte_size(view.dtype());
  int alignment = 16;
  while (bytes % alignment != 0) alignment /= 2;
  return alignment;
}

class Lowering {
 public:
  explicit Lowering(const std::function<bool(int)>& is_local) : is_local_(is_local) {}

  Kernel run(const plan::Step& step) {
    choose_space(step);
    lower(step);
    kernel_.num_arguments = num_arguments_;
    require(!kernel_.stores.empty());
    for (const Store& store : kernel_.stores)
      kernel_.num_stages = std::max(kernel_.num_stages, store.stage + 1);
    check_hazards();
    keep_expensive();
    canonicalize(kernel_, leader());
    return std::move(kernel_);
  }

 private:
  using Views = google::protobuf::RepeatedPtrField<plan::View>;

  // ---- the index space

  void choose_space(const plan::Step& step) {
    if (step.has_elementwise()) return set_space(plan::dims_of(step.elementwise().shape()), {});
    if (step.has_reduce()) return set_space(step.reduce());
    require(step.has_fused());
    for (const plan::Step& inner : step.fused().steps())
      if (inner.has_reduce()) return set_space(inner.reduce());
    require(step.fused().steps(0).has_elementwise());
    set_space(plan::dims_of(step.fused().steps(0).elementwise().shape()), {});
  }
  void set_space(const plan::Reduce& reduce) {
    set_space(plan::dims_of(reduce.shape()), plan::dims_of(reduce.dims()));
  }
  void set_space(const Dims& shape, const Dims& reduced) {
    shape_ = shape;
    is_column_.assign(shape.size(), false);
    for (int64_t dim : reduced) is_column_[static_cast<size_t>(dim)] = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      require(shape[d] != 0);
      (is_column_[d] ? kernel_.columns : kernel_.rows).push_back(shape[d]);
    }
  }

  // Of a view on the whole space, on its rows, or on neither (a scalar).
  Strides strides_of(const plan::View& view) const {
    Strides strides{Dims(kernel_.rows.size()), Dims(kernel_.columns.size())};
    if (view.strides_size() == 0) return strides;
    const bool whole = static_cast<size_t>(view.strides_size()) == shape_.size();
    require(whole || static_cast<size_t>(view.strides_size()) == kernel_.rows.size());
    if (!whole) {
      strides.rows.assign(view.strides().begin(), view.strides().end());
    } else {
      size_t row = 0, column = 0;
      for (size_t d = 0; d < shape_.size(); ++d)
        (is_column_[d] ? strides.columns[column++] : strides.rows[row++]) =
            view.strides(static_cast<int>(d));
    }
    for (size_t d = 0; d < kernel_.rows.size(); ++d)
      if (kernel_.rows[d] == 1) strides.rows[d] = 0;
    for (size_t d = 0; d < kernel_.columns.size(); ++d)
      if (kernel_.columns[d] == 1) strides.columns[d] = 0;
    return strides;
  }

  // ---- steps

  void lower(const plan::Step& step) {
    if (step.has_elementwise()) return lower(step.elementwise());
    if (step.has_reduce()) return lower(step.reduce());
    require(step.has_fused());
    for (const plan::Step& inner : step.fused().steps()) {
      require(!inner.has_fused());
      lower(inner);
    }
  }

  void lower(const plan::Elementwise& step) {
    const Dims shape = plan::dims_of(step.shape());
    require(shape == shape_ || shape == kernel_.rows);
    require(supports(step.program()));
    std::vector<int> registers;
    for (const plan::View& view : step.inputs()) registers.push_back(read(view));
    for (const plan::Instruction& instruction : step.program().instructions())
      registers.push_back(add(instruction, registers, shape));
    for (int i = 0; i < step.outputs_size(); ++i)
      write(step.outputs(i), registers[static_cast<size_t>(step.program().outputs(i))]);
  }

  void lower(const plan::Reduce& step) {
    require(plan::dims_of(step.shape()) == shape_);
    for (size_t d = 0; d < shape_.size(); ++d)
      require(is_column_[d] == (std::find(step.dims().begin(), step.dims().end(),
                                          static_cast<int64_t>(d)) != step.dims().end()));
    for (const plan::View& view : step.inputs()) require(supports(view.dtype()));
    Reduction reduction;
    reduction.op = step.op();
    reduction.program =
        plan::accumulating_program(step.op(), step.program(), step.inputs(0).dtype());
    require(supports(reduction.program));
    for (const plan::Instruction& instruction : reduction.program.instructions())
      require(instruction.op() != plan::IOTA);
    for (int i = 0; i < step.inputs_size(); ++i) {
      const auto type = static_cast<plan::DType>(reduction.program.inputs(i));
      reduction.elements.push_back(converted(read(step.inputs(i)), type));
    }
    for (int i = 0; i < step.inits_size(); ++i) {
      const auto type = static_cast<plan::DType>(reduction.program.inputs(i));
      reduction.inits.push_back(converted(read(step.inits(i)), type));
    }
    for (int node : reduction.elements)
      reduction.stage = std::max(reduction.stage, kernel_.nodes[at(node)].stage);
    for (int node : reduction.inits)
      reduction.stage = std::max(reduction.stage, kernel_.nodes[at(node)].stage);
    const int number = static_cast<int>(kernel_.reductions.size());
    kernel_.reductions.push_back(reduction);
    for (int i = 0; i < step.outputs_size(); ++i) {
      Node node;
      node.kind = Node::Kind::kResult;
      node.dtype = static_cast<plan::DType>(reduction.program.inputs(i));
      node.reduction = number;
      node.result = i;
      node.per_row = true;
      node.stage = reduction.stage + 1;
      write(step.outputs(i), converted(add(node), step.outputs(i).dtype()));
    }
  }

  // ---- nodes

  static size_t at(int number) { return static_cast<size_t>(number); }

  int add(Node node) {
    kernel_.nodes.push_back(std::move(node));
    return static_cast<int>(kernel_.nodes.size()) - 1;
  }

  int converted(int node, plan::DType dtype) {
    if (kernel_.nodes[at(node)].dtype == dtype) return node;
    Node convert;
    convert.op = plan::CONVERT;
    convert.dtype = dtype;
    convert.args = {node};
    return scalar(std::move(convert));
  }

  int add(const plan::Instruction& instruction, const std::vector<int>& registers,
          const Dims& shape) {
    Node node;
    node.op = instruction.op();
    node.dtype = instruction.dtype();
    node.comparison = instruction.comparison();
    node.immediate = instruction.immediate();
    node.constant = instruction.constant();
    for (int32_t arg : instruction.args()) node.args.push_back(registers[at(arg)]);
    if (node.op == plan::CONSTANT) node.kind = Node::Kind::kConstant;
    if (node.op == plan::IOTA) {
      node.kind = Node::Kind::kIota;
      plan::View index;
      index.mutable_strides()->Resize(static_cast<int>(shape.size()), 0);
      index.set_strides(static_cast<int>(node.immediate), 1);
      node.strides = strides_of(index);
      node.immediate = 0;
    }
    return scalar(std::move(node));
  }

  // Equal nodes are one.
  int scalar(Node node) {
    node.per_row = true;
    for (int arg : node.args) {
      node.per_row = node.per_row && kernel_.nodes[at(arg)].per_row;
      node.stage = std::max(node.stage, kernel_.nodes[at(arg)].stage);
    }
    if (node.kind == Node::Kind::kIota) node.per_row = is_zero(node.strides.columns);
    const Key key{node.op,        node.dtype,    node.args,         node.comparison,
                  node.immediate, node.constant, node.strides.rows, node.strides.columns};
    const auto [known, is_new] = known_.try_emplace(key, -1);
    if (is_new) known->second = add(std::move(node));
    return known->second;
  }

  static bool is_zero(const Dims& strides) {
    return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
  }

  // ---- memory

  // A place that has been written or read, and its value.
  struct Place {
    int64_t offset;
    plan::DType dtype;
    Strides strides;
    int node;
    bool written;
    bool operator==(const Place& other) const {
      return offset == other.offset && dtype == other.dtype && strides == other.strides;
    }
  };

  int read(const plan::View& view) {
    const bool local = is_local_(view.buffer());
    const int argument = local ? -1 : num_arguments_++;
    Place place{view.offset(), view.dtype(), strides_of(view), -1, false};
    std::vector<Place>& places = places_[view.buffer()];
    for (const Place& known : places)
      if (known == place) return known.node;
    const bool overwritten =
        std::any_of(places.begin(), places.end(), [](const Place& known) { return known.written; });
    require(!local && !overwritten);
    place.node = load(view, argument, place.strides);
    places.push_back(place);
    return place.node;
  }

  int load(const plan::View& view, int argument, const Strides& strides) {
    Node node;
    node.kind = Node::Kind::kLoad;
    node.dtype = view.dtype();
    node.access = access(view, argument, strides, false);
    node.per_row = is_zero(strides.columns);
    return add(std::move(node));
  }

  int access(const plan::View& view, int argument, const Strides& strides, bool writes) {
    Access access;
    access.argument = argument;
    access.dtype = view.dtype();
    access.strides = strides;
    access.alignment = alignment_of(view);
    access.writes = writes;
    kernel_.accesses.push_back(std::move(access));
    buffers_.push_back(view.buffer());
    return static_cast<int>(kernel_.accesses.size()) - 1;
  }

  void write(const plan::View& view, int node) {
    const Strides strides = strides_of(view);
    std::vector<Place>& places = places_[view.buffer()];
    const Place place{view.offset(), view.dtype(), strides, node, true};
    if (!is_local_(view.buffer())) {
      Store store;
      store.access = access(view, num_arguments_++, strides, true);
      store.node = node;
      store.stage = kernel_.nodes[at(node)].stage;
      kernel_.stores.push_back(store);
    }
    // What was read there before keeps its old value in `node`s already made.
    std::erase_if(places, [&](const Place& known) { return known == place; });
    places.push_back(place);
  }

  // In kernels of several loops a buffer is either read or written: a later stage would read what
  // an earlier one has written already.
  void check_hazards() const {
    if (kernel_.columns.empty() && kernel_.reductions.empty()) return;
    for (size_t w = 0; w < buffers_.size(); ++w)
      for (size_t r = 0; r < buffers_.size(); ++r)
        require(!kernel_.accesses[w].writes || kernel_.accesses[r].writes ||
                buffers_[w] != buffers_[r]);
  }

  // ---- decisions

  // What is costly to compute is computed once for all stages.
  void keep_expensive() {
    std::vector<std::vector<bool>> used(kernel_.nodes.size());
    for (auto& stages : used) stages.assign(static_cast<size_t>(kernel_.num_stages), false);
    for (const Store& store : kernel_.stores) used[at(store.node)][at(store.stage)] = true;
    for (const Reduction& reduction : kernel_.reductions)
      for (int node : reduction.elements) used[at(node)][at(reduction.stage)] = true;
    for (size_t n = kernel_.nodes.size(); n-- > 0;) {
      Node& node = kernel_.nodes[n];
      if (node.per_row) continue;
      const auto uses = std::count(used[n].begin(), used[n].end(), true);
      node.kept = uses > 1 && node.kind == Node::Kind::kScalar && is_expensive(node.op);
      const auto first = std::find(used[n].begin(), used[n].end(), true) - used[n].begin();
      for (int arg : node.args)
        for (size_t s = 0; s < used[n].size(); ++s)
          if (used[n][s] && (!node.kept || static_cast<ptrdiff_t>(s) == first))
            used[at(arg)][s] = true;
    }
  }

  // Reads decide: of those with the most elements, the first. Else the first write.
  int leader() const {
    int best = -1;
    int64_t most = 0;
    const bool by_reads = !kernel_.reductions.empty();
    for (size_t a = 0; a < kernel_.accesses.size(); ++a) {
      const Access& access = kernel_.accesses[a];
      int64_t elements = 1;
      for (size_t d = 0; d < kernel_.rows.size(); ++d)
        if (access.strides.rows[d] != 0) elements *= kernel_.rows[d];
      for (size_t d = 0; d < kernel_.columns.size(); ++d)
        if (access.strides.columns[d] != 0) elements *= kernel_.columns[d];
      if (access.writes == by_reads && best >= 0) continue;
      if (access.writes == by_reads || elements > most) {
        best = static_cast<int>(a);
        most = access.writes == by_reads ? 0 : elements;
      }
    }
    return best;
  }

  using Key = std::tuple<plan::ScalarOp, plan::DType, std::vector<int>, plan::Comparison, int64_t,
                         std::string, Dims, Dims>;

  const std::function<bool(int)>& is_local_;
  Dims shape_;
  std::vector<bool> is_column_;  // by dimension of shape_
  Kernel kernel_;
  std::vector<int> buffers_;  // by access
  int num_arguments_ = 0;
  std::map<int, std::vector<Place>> places_;  // by buffer
  std::map<Key, int> known_;
};

// The members differ in their addresses only, and so in what those are aligned to.
std::optional<Kernel> lower_group(const plan::Grouped& group,
                                  const std::function<bool(int)>& is_local) {
  std::optional<Kernel> kernel = lower(group.steps(0), is_local);
  for (int m = 1; m < group.steps_size() && kernel; ++m) {
    const std::optional<Kernel> member = lower(group.steps(m), is_local);
    if (!member || member->accesses.size() != kernel->accesses.size()) return std::nullopt;
    for (size_t a = 0; a < member->accesses.size(); ++a)
      kernel->accesses[a].alignment =
          std::min(kernel->accesses[a].alignment, member->accesses[a].alignment);
  }
  if (kernel) kernel->members = group.steps_size();
  return kernel;
}

}  // namespace

std::optional<Kernel> lower(const plan::Step& step, const std::function<bool(int)>& is_local) {
  if (step.has_grouped()) return lower_group(step.grouped(), is_local);
  try {
    return Lowering(is_local).run(step);
  } catch (const NotCompiled&) {
    return std::nullopt;
  }
}

}  // namespace spmd::codegen::kernels
