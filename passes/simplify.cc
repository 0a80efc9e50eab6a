#include "passes/simplify.h"

#include "passes/rewrite/patterns.h"

namespace spmd {
namespace {

PatternSet all_patterns() {
  PatternSet patterns;
  add_elementwise_patterns(patterns);
  add_shape_patterns(patterns);
  add_pad_patterns(patterns);
  add_reduction_patterns(patterns);
  add_four_bit_patterns(patterns);
  add_indexing_patterns(patterns);
  add_control_flow_patterns(patterns);
  add_constant_folding(patterns);
  return patterns;
}

bool simplify(Module& module, PassContext&) {
  static const PatternSet patterns = all_patterns();
  return rewrite_greedily(module, patterns);
}

}  // namespace

Pass simplify_pass() { return {"simplify", "local rewrites and constant folding", simplify}; }

}  // namespace spmd
