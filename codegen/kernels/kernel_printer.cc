#include "codegen/kernels/kernel_printer.h"

#include <algorithm>

#include "codegen/kernels/scalar_text.h"
#include "support/error.h"

namespace spmd::codegen::kernels {
namespace {

void add_terms(std::string& text, const Dims& strides, char variable) {
  for (size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] == 0) continue;
    if (!text.empty()) text += " + ";
    text += fmt::format("{}{}", variable, d);
    if (strides[d] != 1)
      text +=
          " * " + (strides[d] < 0 ? fmt::format("({})", strides[d]) : std::to_string(strides[d]));
  }
}

}  // namespace

void KernelPrinter::add_unit_row() {
  kernel_.rows = {1};
  for (Access& access : kernel_.accesses) access.strides.rows = {0};
  for (Node& node : kernel_.nodes) node.strides.rows = {0};
}

void KernelPrinter::find_live() {
  live_.assign(kernel_.nodes.size(), false);
  for (const Store& store : kernel_.stores) live_[at(store.node)] = true;
  // A reduction whose result nobody reads is computed all the same, if another of its results is.
  for (size_t n = kernel_.nodes.size(); n-- > 0;) {
    if (!live_[n]) continue;
    const Node& node = kernel_.nodes[n];
    for (int arg : node.args) live_[at(arg)] = true;
    if (node.kind != Node::Kind::kResult) continue;
    for (int arg : kernel_.reductions[at(node.reduction)].inits) live_[at(arg)] = true;
    for (int arg : kernel_.reductions[at(node.reduction)].elements) live_[at(arg)] = true;
  }
}

// ---- indices

void KernelPrinter::body(std::string_view arguments, std::string_view read_qualifier) {
  for (size_t a = 0; a < kernel_.accesses.size(); ++a) {
    const Access& access = kernel_.accesses[a];
    const std::string type =
        fmt::format("{}{}", access.writes ? "" : "const ", stored_type(access.dtype));
    line("{0}* {1}const p{2} = static_cast<{0}*>({3}[{4}]);", type,
         access.writes ? "" : read_qualifier, a, arguments, access.argument);
  }
  switch (kernel_.mapping) {
    case Mapping::kFlat:
      return flat();
    case Mapping::kRows:
      return rows();
    case Mapping::kColumnTiles:
      return column_tiles();
  }
}

std::string KernelPrinter::index(const Strides& strides) const {
  std::string text;
  add_terms(text, strides.rows, 'r');
  add_terms(text, strides.columns, 'c');
  return text.empty() ? "0" : text;
}

std::string KernelPrinter::column_number() const {
  Strides strides;
  strides.columns.resize(kernel_.columns.size());
  int64_t stride = 1;
  for (size_t d = kernel_.columns.size(); d-- > 0; stride *= kernel_.columns[d])
    strides.columns[d] = stride;
  return index(strides);
}

size_t KernelPrinter::depth(const Dims& strides) {
  size_t depth = strides.size();
  while (depth > 0 && strides[depth - 1] == 0) --depth;
  return depth;
}

size_t KernelPrinter::row_depth(int n) const {
  const Node& node = this->node(n);
  if (node.kind == Node::Kind::kResult) return kernel_.rows.size();
  if (node.kind == Node::Kind::kIota) return depth(node.strides.rows);
  size_t result = node.access < 0 ? 0 : depth(access(node.access).strides.rows);
  for (int arg : node.args) result = std::max(result, row_depth(arg));
  return result;
}

size_t KernelPrinter::column_depth(int n) const {
  const Node& node = this->node(n);
  if (node.per_row) return 0;
  if (node.kind == Node::Kind::kIota) return depth(node.strides.columns);
  size_t result = node.access < 0 ? 0 : depth(access(node.access).strides.columns);
  for (int arg : node.args) result = std::max(result, column_depth(arg));
  return result;
}

// ---- nodes

std::string KernelPrinter::value(int n) const {
  const Node& node = this->node(n);
  if (node.kind == Node::Kind::kConstant) return literal(node.dtype, node.constant);
  SPMD_CHECK(!names_[at(n)].empty(), "node {}", n);
  return names_[at(n)];
}

std::string KernelPrinter::definition(int n) const {
  const Node& node = this->node(n);
  switch (node.kind) {
    case Node::Kind::kLoad:
      return loaded(node.dtype, element(node.access));
    case Node::Kind::kIota:
      return from_index(node.dtype, fmt::format("int64_t({})", index(node.strides)));
    case Node::Kind::kScalar:
      return scalar_definition(n, [&](int arg) { return value(arg); });
    case Node::Kind::kResult:
      return accumulator(node.reduction, static_cast<size_t>(node.result));
    case Node::Kind::kConstant:
      break;
  }
  return value(n);
}

std::string KernelPrinter::scalar_definition(int n, const std::function<std::string(int)>& value_of,
                                             bool leaves_rounding) const {
  const Node& node = this->node(n);
  std::vector<std::string> args;
  std::vector<plan::DType> types;
  for (int arg : node.args) {
    args.push_back(value_of(arg));
    types.push_back(this->node(arg).dtype);
  }
  return expression(
      {node.op, node.dtype, node.comparison, node.immediate, has_half_functions_, leaves_rounding},
      args, types);
}

void KernelPrinter::define(int n) {
  if (node(n).kind == Node::Kind::kConstant) return;
  const std::string name = fmt::format("v{}", n);
  line("const {} {} = {};", register_type(node(n).dtype), name, definition(n));
  set_name(n, name);
}

void KernelPrinter::define_at_depth(size_t depth) {
  for (int n : row_nodes(0))
    if (row_depth(n) == depth) define(n);
}

void KernelPrinter::store(const Store& store) {
  line("{} = {};", element(store.access), to_store(access(store.access).dtype, value(store.node)));
}

// ---- stages

void KernelPrinter::find_element_nodes() {
  elements_.clear();
  for (int s = 0; s < kernel_.num_stages; ++s) elements_.push_back(needed_elements(s));
}

bool KernelPrinter::is_kept_from_before(int n, int s) const {
  if (!node(n).kept) return false;
  return std::any_of(elements_.begin(), elements_.begin() + s, [&](const std::vector<int>& nodes) {
    return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
  });
}

std::vector<int> KernelPrinter::needed_elements(int s) const {
  std::vector<bool> needed(kernel_.nodes.size(), false);
  for (const Store& store : element_stores(s)) needed[at(store.node)] = true;
  for (int r : reductions(s))
    for (int n : kernel_.reductions[at(r)].elements) needed[at(n)] = true;
  std::vector<int> result;
  for (size_t n = kernel_.nodes.size(); n-- > 0;) {
    const Node& node = kernel_.nodes[n];
    if (!needed[n] || node.per_row) continue;
    result.push_back(static_cast<int>(n));
    if (is_kept_from_before(static_cast<int>(n), s)) continue;
    for (int arg : node.args) needed[at(arg)] = true;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<int> KernelPrinter::row_nodes(int s) const {
  std::vector<int> result;
  for (size_t n = 0; n < kernel_.nodes.size(); ++n)
    if (live_[n] && kernel_.nodes[n].per_row && kernel_.nodes[n].stage == s &&
        kernel_.nodes[n].kind != Node::Kind::kConstant)
      result.push_back(static_cast<int>(n));
  return result;
}

bool KernelPrinter::is_per_row(const Store& store) const {
  return depth(access(store.access).strides.columns) == 0;
}

std::vector<Store> KernelPrinter::row_stores(int s) const {
  std::vector<Store> result;
  for (const Store& store : kernel_.stores)
    if (store.stage == s && is_per_row(store)) result.push_back(store);
  return result;
}

std::vector<Store> KernelPrinter::element_stores(int s) const {
  std::vector<Store> result;
  for (const Store& store : kernel_.stores)
    if (store.stage == s && !is_per_row(store)) result.push_back(store);
  return result;
}

std::vector<int> KernelPrinter::reductions(int s) const {
  std::vector<int> result;
  for (size_t n = 0; n < kernel_.nodes.size(); ++n) {
    const Node& node = kernel_.nodes[n];
    if (!live_[n] || node.kind != Node::Kind::kResult) continue;
    if (kernel_.reductions[at(node.reduction)].stage != s) continue;
    if (std::find(result.begin(), result.end(), node.reduction) == result.end())
      result.push_back(node.reduction);
  }
  return result;
}

// ---- reducers

std::string_view KernelPrinter::accumulator_type(int reduction, size_t i) const {
  const plan::ScalarProgram& program = kernel_.reductions[at(reduction)].program;
  return register_type(static_cast<plan::DType>(program.inputs(static_cast<int>(i))));
}

std::vector<std::string> KernelPrinter::combine(int reduction,
                                                const std::vector<std::string>& accumulators,
                                                const std::vector<std::string>& elements) {
  const plan::ScalarProgram& program = kernel_.reductions[at(reduction)].program;
  std::vector<std::string> names = accumulators;
  names.insert(names.end(), elements.begin(), elements.end());
  std::vector<plan::DType> types;
  for (int input : program.inputs()) types.push_back(static_cast<plan::DType>(input));
  for (const plan::Instruction& instruction : program.instructions()) {
    types.push_back(instruction.dtype());
    if (instruction.op() == plan::CONSTANT) {
      names.push_back(literal(instruction.dtype(), instruction.constant()));
      continue;
    }
    std::vector<std::string> args;
    std::vector<plan::DType> arg_types;
    for (int32_t arg : instruction.args()) {
      args.push_back(names[at(arg)]);
      arg_types.push_back(types[at(arg)]);
    }
    names.push_back(fmt::format("x{}", temporaries_++));
    line("const {} {} = {};", register_type(instruction.dtype()), names.back(),
         expression({instruction.op(), instruction.dtype(), instruction.comparison(),
                     instruction.immediate()},
                    args, arg_types));
  }
  std::vector<std::string> outputs;
  for (int32_t output : program.outputs()) outputs.push_back(names[at(output)]);
  return outputs;
}

}  // namespace spmd::codegen::kernels
