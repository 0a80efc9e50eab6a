#include "tests/codegen/attention_cases.h"

namespace spmd::testing {
namespace {

std::string tensor_type(std::initializer_list<int64_t> shape, const std::string& dtype) {
  std::string text = "tensor<";
  for (int64_t size : shape) text += std::to_string(size) + "x";
  return text + dtype + ">";
}

}  // namespace

Module attention_layer(const AttentionShape& n, const std::string& dtype, bool causal) {
  const std::string q = tensor_type({n.batch, n.queries, n.heads, n.groups, n.size}, dtype),
                    k = tensor_type({n.batch, n.keys, n.heads, n.size}, dtype),
                    v = tensor_type({n.batch, n.keys, n.heads, n.width}, dtype),
                    o = tensor_type({n.batch, n.queries, n.heads, n.groups, n.width}, dtype),
                    s = tensor_type({n.batch, n.heads, n.groups, n.queries}, "f32");
  const std::string attrs =
      std::string(" <{causal = ") + (causal ? "true" : "false") + ", scale = 0.125 : f64}> : (";
  const std::string operands = q + ", " + k + ", " + v;
  return module_of(
      "(%q: " + q + ", %k: " + k + ", %v: " + v + ", %d: " + o + ") -> (" + o + ", " + s + ", " +
          operands + ")",
      "%o:2 = \"spmd.attention\"(%q, %k, %v)" + attrs + operands + ") -> (" + o + ", " + s +
          ")\n%g:3 = \"spmd.attention_backward\"(%q, %k, %v, %o#0, %o#1, %d)" + attrs + operands +
          ", " + o + ", " + s + ", " + o + ") -> (" + operands +
          ")\nreturn %o#0, %o#1, %g#0, %g#1, %g#2 : " + o + ", " + s + ", " + operands);
}

}  // namespace spmd::testing
