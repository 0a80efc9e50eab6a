#include "codegen/fuse.h"

#include <limits>

#include "support/error.h"

namespace spmd::codegen {
namespace {

constexpr size_t kMaxNodes = 64, kMaxLeaves = 16, kMaxExports = 8;

// Prints a group's live nodes as an Elementwise.
class KernelBuilder {
 public:
  KernelBuilder(const Expr& expr, const std::vector<std::pair<int, View>>& stores, Dims shape)
      : expr_(expr), stores_(stores), shape_(std::move(shape)) {}

  plan::Elementwise run() {
    mark_live();
    lay_out();
    plan::Elementwise kernel;
    program_ = kernel.mutable_program();
    registers_.assign(expr_.nodes.size(), -1);
    for (size_t n = 0; n < expr_.nodes.size(); ++n)
      if (live_[n] && expr_.nodes[n].kind == Node::Kind::kLoad) input(n, kernel);
    for (size_t n = 0; n < expr_.nodes.size(); ++n)
      if (live_[n] && expr_.nodes[n].kind != Node::Kind::kLoad) instruction(n);
    for (size_t s = 0; s < stores_.size(); ++s) {
      program_->add_outputs(registers_[static_cast<size_t>(stores_[s].first)]);
      *kernel.add_outputs() = placed(stores_[s].second, store_strides_[s]);
    }
    kernel.mutable_shape()->Add(shape_.begin(), shape_.end());
    return kernel;
  }

 private:
  void mark_live() {
    live_.assign(expr_.nodes.size(), false);
    for (const auto& [node, view] : stores_) live_[static_cast<size_t>(node)] = true;
    for (size_t n = expr_.nodes.size(); n-- > 0;) {
      if (!live_[n]) continue;
      for (int arg : expr_.nodes[n].args)
        if (arg >= 0) live_[static_cast<size_t>(arg)] = true;
    }
  }

  // Strides of every live leaf and store on the common shape, with as few dimensions as possible.
  void lay_out() {
    leaf_strides_.resize(expr_.leaves.size());
    store_strides_.resize(stores_.size());
    std::vector<bool> used(expr_.leaves.size(), false);
    for (size_t n = 0; n < expr_.nodes.size(); ++n)
      if (live_[n] && expr_.nodes[n].leaf >= 0)
        used[static_cast<size_t>(expr_.nodes[n].leaf)] = true;
    std::vector<Dims*> all;
    for (size_t l = 0; l < expr_.leaves.size(); ++l) {
      if (!used[l]) continue;
      leaf_strides_[l] = strides_on(expr_.leaves[l], shape_);
      all.push_back(&leaf_strides_[l]);
    }
    for (size_t s = 0; s < stores_.size(); ++s) {
      store_strides_[s] = strides_on(stores_[s].second, shape_);
      all.push_back(&store_strides_[s]);
    }
    collapse(shape_, all);
  }

  static plan::View placed(const View& view, const Dims& strides) {
    return to_plan({view.storage, view.dtype, view.offset, {}, strides}, false);
  }

  void input(size_t n, plan::Elementwise& kernel) {
    const auto leaf = static_cast<size_t>(expr_.nodes[n].leaf);
    const View& view = expr_.leaves[leaf];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const View& other = expr_.leaves[inputs_[i]];
      if (other.storage == view.storage && other.offset == view.offset &&
          other.dtype == view.dtype && leaf_strides_[inputs_[i]] == leaf_strides_[leaf]) {
        registers_[n] = static_cast<int>(i);
        return;
      }
    }
    registers_[n] = static_cast<int>(inputs_.size());
    inputs_.push_back(leaf);
    program_->add_inputs(to_plan(view.dtype));
    *kernel.add_inputs() = placed(view, leaf_strides_[leaf]);
  }

  void instruction(size_t n) {
    const Node& node = expr_.nodes[n];
    if (node.kind == Node::Kind::kIota) {
      registers_[n] = iota(node);
      return;
    }
    plan::Instruction* instruction = append(node.op, node.dtype);
    for (int arg : node.args)
      if (arg >= 0) instruction->add_args(registers_[static_cast<size_t>(arg)]);
    instruction->set_comparison(node.comparison);
    instruction->set_immediate(node.immediate);
    instruction->set_constant(node.constant);
    registers_[n] = last();
  }

  plan::Instruction* append(plan::ScalarOp op, DType dtype) {
    plan::Instruction* instruction = program_->add_instructions();
    instruction->set_op(op);
    instruction->set_dtype(to_plan(dtype));
    return instruction;
  }
  int last() const { return program_->inputs_size() + program_->instructions_size() - 1; }

  int constant(DType dtype, int64_t value) {
    const Literal literal = Literal::splat({dtype, {}}, static_cast<double>(value));
    append(plan::CONSTANT, dtype)->set_constant(literal.data(), literal.stored_bytes());
    return last();
  }
  int binary(plan::ScalarOp op, DType dtype, int a, int b) {
    plan::Instruction* instruction = append(op, dtype);
    instruction->add_args(a);
    instruction->add_args(b);
    return last();
  }

  // offset + sum of index * stride.
  int iota(const Node& node) {
    const View& view = expr_.leaves[static_cast<size_t>(node.leaf)];
    const Dims& strides = leaf_strides_[static_cast<size_t>(node.leaf)];
    std::vector<size_t> dims;
    for (size_t d = 0; d < shape_.size(); ++d)
      if (strides[d] != 0) dims.push_back(d);
    // Narrow types do not hold every count: those are made in a wide one and converted.
    const bool holds_counts = bit_width(node.dtype) >= 32;
    if (dims.empty() && holds_counts) return constant(node.dtype, view.offset);
    if (dims.size() == 1 && strides[dims[0]] == 1 && view.offset == 0 && holds_counts) {
      append(plan::IOTA, node.dtype)->set_immediate(static_cast<int64_t>(dims[0]));
      return last();
    }
    int64_t reach = std::abs(view.offset);
    for (size_t d : dims) reach += std::abs(strides[d]) * shape_[d];
    const DType dtype = reach <= std::numeric_limits<int32_t>::max() ? DType::kS32 : DType::kS64;
    int sum = view.offset == 0 && !dims.empty() ? -1 : constant(dtype, view.offset);
    for (size_t d : dims) {
      append(plan::IOTA, dtype)->set_immediate(static_cast<int64_t>(d));
      int term = last();
      if (strides[d] != 1) term = binary(plan::MULTIPLY, dtype, term, constant(dtype, strides[d]));
      sum = sum < 0 ? term : binary(plan::ADD, dtype, sum, term);
    }
    if (dtype == node.dtype) return sum;
    append(plan::CONVERT, node.dtype)->add_args(sum);
    return last();
  }

  const Expr& expr_;
  const std::vector<std::pair<int, View>>& stores_;
  Dims shape_;
  std::vector<bool> live_;
  std::vector<Dims> leaf_strides_, store_strides_;
  std::vector<int> registers_;  // by node
  std::vector<size_t> inputs_;  // leaves
  plan::ScalarProgram* program_ = nullptr;
};

Dims without_units(const Dims& shape) {
  Dims result;
  for (int64_t size : shape)
    if (size != 1) result.push_back(size);
  return result;
}

}  // namespace

Group::Group(BlockId block, const Dims& shape) : block_(block), shape_(without_units(shape)) {
  elements_ = 1;
  for (int64_t size : shape) elements_ *= size;
}

bool Group::accepts(const Dims& shape) const {
  int64_t elements = 1;
  for (int64_t size : shape) elements *= size;
  return elements == elements_ && (elements == 0 || common_refinement(shape_, shape));
}

bool Group::accepts(const Group& other) const {
  return other.block_ == block_ && accepts(other.shape_);
}

bool Group::has_room(size_t nodes, size_t leaves, size_t more_exports) const {
  return expr_.nodes.size() + nodes <= kMaxNodes + kMaxLeaves &&
         expr_.leaves.size() + leaves <= kMaxLeaves && exports + more_exports <= kMaxExports;
}

void Group::refine(const Dims& shape) {
  if (elements_ == 0) return;
  std::optional<Dims> refined = common_refinement(shape_, shape);
  SPMD_CHECK(refined.has_value());
  shape_ = std::move(*refined);
}

int Group::add_leaf(const View& view) {
  for (size_t l = 0; l < expr_.leaves.size(); ++l)
    if (expr_.leaves[l] == view) return static_cast<int>(l);
  expr_.leaves.push_back(view);
  return static_cast<int>(expr_.leaves.size()) - 1;
}

int Group::add(Node node, const Dims& shape) {
  refine(shape);
  expr_.nodes.push_back(std::move(node));
  return static_cast<int>(expr_.nodes.size()) - 1;
}

int Group::add(const Expr& expr, const Dims& shape) {
  refine(shape);
  std::vector<int> placed;
  for (Node node : expr.nodes) {
    for (int& arg : node.args)
      if (arg >= 0) arg = placed[static_cast<size_t>(arg)];
    if (node.leaf >= 0) node.leaf = add_leaf(expr.leaves[static_cast<size_t>(node.leaf)]);
    int same = -1;
    // Loads, counters and constants are common; they are not repeated.
    if (node.kind != Node::Kind::kScalar || node.is_constant()) {
      for (size_t n = 0; n < expr_.nodes.size() && same < 0; ++n) {
        const Node& other = expr_.nodes[n];
        if (other.kind == node.kind && other.op == node.op && other.dtype == node.dtype &&
            other.leaf == node.leaf && other.constant == node.constant)
          same = static_cast<int>(n);
      }
    }
    if (same < 0) {
      expr_.nodes.push_back(node);
      same = static_cast<int>(expr_.nodes.size()) - 1;
    }
    placed.push_back(same);
  }
  return placed.back();
}

int Group::find(ValueId value) const {
  for (const auto& [known, node] : loaded_)
    if (known == value) return node;
  return -1;
}

void Group::store(int node, const View& view) {
  refine(view.shape);
  stores_.emplace_back(node, view);
}

void Group::store_dense(int node, const View& view) {
  SPMD_CHECK(is_dense(view));
  View reshaped = view;
  reshaped.shape = shape_;
  reshaped.strides = row_major_strides(shape_);
  stores_.emplace_back(node, std::move(reshaped));
}

const View* Group::stored(int node) const {
  for (const auto& [known, view] : stores_)
    if (known == node) return &view;
  return nullptr;
}

int Group::absorb(Group& other) {
  refine(other.shape_);
  const int offset = static_cast<int>(expr_.nodes.size());
  for (Node node : other.expr_.nodes) {
    for (int& arg : node.args)
      if (arg >= 0) arg += offset;
    if (node.leaf >= 0) node.leaf = add_leaf(other.expr_.leaves[static_cast<size_t>(node.leaf)]);
    expr_.nodes.push_back(std::move(node));
  }
  for (const auto& [node, view] : other.stores_) stores_.emplace_back(node + offset, view);
  for (const auto& [value, node] : other.loaded_) loaded_.emplace_back(value, node + offset);
  for (const Member& member : other.members)
    members.push_back({member.value, member.node + offset});
  exports += other.exports;
  if (other.key > key) {
    key = other.key;
    last = other.last;
  }
  return offset;
}

plan::Elementwise Group::build() const { return KernelBuilder(expr_, stores_, shape_).run(); }

plan::Elementwise copy_kernel(const View& from, const View& to) {
  SPMD_CHECK(from.shape == to.shape);
  const Expr expr = load_expr(from);
  return KernelBuilder(expr, {{0, to}}, without_units(from.shape)).run();
}

}  // namespace spmd::codegen
