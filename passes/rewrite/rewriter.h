// A greedy worklist driver for local rewrites.
//
// A pattern looks at one op and what defines its operands. When it applies, it creates the
// replacement before the op and hands it to Rewriter::replace(). The driver visits every op once
// in program order and again whenever an operand or a user changed, until nothing applies; ops
// left without users are erased on the way. Each pattern must make the module smaller by some
// measure, or the driver would not end.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "ir/builder.h"

namespace spmd {

class Rewriter {
 public:
  Rewriter(const Module& module, Function& fn) : module_(module), fn_(fn) {}

  const Module& module() const { return module_; }
  Function& fn() { return fn_; }
  const Op& op(OpId id) const { return fn_.op(id); }
  const TensorType& type(ValueId id) const { return fn_.type(id); }

  // Creates ops before `id`, with its location.
  Builder before(OpId id);

  // Replaces the results of `id`, and erases it. The values' sharding annotations move along;
  // false, with nothing replaced, when a value already has a different one or when the values are
  // the op's own results.
  bool replace(OpId id, ValueId value) { return replace(id, std::vector<ValueId>{value}); }
  bool replace(OpId id, const std::vector<ValueId>& values);

  // Changes one operand in place.
  void set_operand(OpId id, size_t index, ValueId value);

  // Visit the op, or the users of the value, again.
  void touch(OpId id);
  void touch_users(ValueId value);

 private:
  friend class RewriteDriver;

  const Module& module_;
  Function& fn_;
  std::deque<OpId> queue_;
  std::vector<bool> queued_;
};

using Pattern = bool (*)(Rewriter&, OpId);

// Patterns by the op they look at, tried in the order of their registration.
class PatternSet {
 public:
  void add(OpCode code, Pattern pattern) { of_code_[static_cast<size_t>(code)].push_back(pattern); }
  // For every op code.
  void add(Pattern pattern) {
    for (auto& patterns : of_code_) patterns.push_back(pattern);
  }
  const std::vector<Pattern>& of(OpCode code) const { return of_code_[static_cast<size_t>(code)]; }

 private:
  std::array<std::vector<Pattern>, kNumOpCodes> of_code_;
};

// Returns whether anything was rewritten.
bool rewrite_greedily(const Module& module, Function& fn, const PatternSet& patterns);
// In every function.
bool rewrite_greedily(Module& module, const PatternSet& patterns);

}  // namespace spmd
