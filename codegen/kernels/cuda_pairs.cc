// Two neighbouring elements at once, floats of 16 bits in one register.
#include <algorithm>

#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {

bool CudaPrinter::any_vector_of_16_bits() const {
  return std::any_of(kernel_.accesses.begin(), kernel_.accesses.end(), [&](const Access& access) {
    return has_pairs(access.dtype) && is_vector(access);
  });
}

std::string CudaPrinter::element_value(int n, int e) const {
  if (is_of_strip_[at(n)]) return fmt::format("own{}[j + {}]", n, e);
  if (!is_pair_[at(n)]) return value(n);
  if (is_paired(node(n).dtype)) return element_of_pair(node(n).dtype, value(n), e);
  return fmt::format("{}_{}", value(n), e);
}

std::string CudaPrinter::pair_value(int n) const {
  if (is_pair_[at(n)]) return value(n);
  if (node(n).kind == Node::Kind::kConstant) return pair_literal(node(n).constant);
  return pair_of(node(n).dtype, element_value(n, 0), element_value(n, 1));
}

std::string CudaPrinter::element_index(const Strides& strides, int e) const {
  const Dims& dims = kernel_.mapping == Mapping::kRows ? strides.columns : strides.rows;
  const int64_t offset = dims.empty() ? 0 : e * dims.back();
  return offset == 0 ? index(strides) : fmt::format("{} + ({})", index(strides), offset);
}

std::string CudaPrinter::element_in_memory(int a, int e) const {
  if (is_vector(access(a))) return vector_element(a, e);
  return fmt::format("p{}[{}]", a, element_index(access(a).strides, e));
}

std::string CudaPrinter::element_definition(int n, int e) const {
  const Node& node = this->node(n);
  switch (node.kind) {
    case Node::Kind::kLoad:
      return loaded(node.dtype, element_in_memory(node.access, e));
    case Node::Kind::kIota:
      return from_index(node.dtype, fmt::format("int64_t({})", element_index(node.strides, e)));
    case Node::Kind::kScalar:
      return scalar_definition(
          n, [&](int arg) { return element_value(arg, e); }, true);
    default:
      return value(n);
  }
}

std::string CudaPrinter::pair_definition(int n) const {
  const Node& node = this->node(n);
  if (node.kind == Node::Kind::kLoad && is_vector(access(node.access)))
    return vector_element(node.access);
  std::string text;
  const auto is_same = [&](int arg) { return this->node(arg).dtype == node.dtype; };
  if (node.kind == Node::Kind::kScalar &&
      std::all_of(node.args.begin(), node.args.end(), is_same)) {
    std::vector<std::string> pairs;
    for (int arg : node.args) pairs.push_back(pair_value(arg));
    text = pair_expression(node.op == plan::CONVERT ? plan::NOP : node.op, node.dtype, pairs);
  }
  if (!text.empty()) return text;
  return pair_of(node.dtype, element_definition(n, 0), element_definition(n, 1));
}

void CudaPrinter::define_element(int n) {
  if (!has_pairs_) return define(n);
  if (node(n).kind == Node::Kind::kConstant) return;
  const std::string name = fmt::format("v{}", n);
  if (is_paired(node(n).dtype)) {
    line("const uint32_t {} = {};", name, pair_definition(n));
  } else {
    for (int e = 0; e < 2; ++e)
      line("const {} {}_{} = {};", register_type(node(n).dtype), name, e, element_definition(n, e));
  }
  set_name(n, name);
  is_pair_[at(n)] = true;
}

void CudaPrinter::store_element(const Store& store) {
  if (!has_pairs_) return KernelPrinter::store(store);
  const Access& to = access(store.access);
  if (is_paired(to.dtype) && is_vector(to)) {
    line("{} = {};", vector_element(store.access), pair_value(store.node));
    return;
  }
  for (int e = 0; e < 2; ++e)
    line("{} = {};", element_in_memory(store.access, e),
         to_store(to.dtype, element_value(store.node, e)));
}

}  // namespace spmd::codegen::kernels
