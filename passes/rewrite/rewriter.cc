#include "passes/rewrite/rewriter.h"

#include "passes/analysis/purity.h"
#include "support/error.h"

namespace spmd {
namespace {

// The annotation of `from` fits `to`, or can be put on it.
bool sharding_fits(const Function& fn, ValueId from, ValueId to) {
  const ShardingRef& wanted = fn.value(from).sharding;
  if (!wanted) return true;
  const ShardingRef& present = fn.value(to).sharding;
  if (present) return *present == *wanted;
  return fn.def(to) != nullptr;  // arguments keep what their function says
}

}  // namespace

Builder Rewriter::before(OpId id) {
  Builder builder = Builder::before(fn_, id);
  builder.location = fn_.op(id).location;
  return builder;
}

void Rewriter::touch(OpId id) {
  if (queued_.size() <= index_of(id)) queued_.resize(fn_.num_op_ids(), false);
  if (queued_[index_of(id)]) return;
  queued_[index_of(id)] = true;
  queue_.push_back(id);
}

void Rewriter::touch_users(ValueId value) {
  for (const Use& use : fn_.value(value).uses) touch(use.op);
}

void Rewriter::set_operand(OpId id, size_t index, ValueId value) {
  if (const OpId old = fn_.value(fn_.op(id).operands[index]).def; old != OpId::kNone) touch(old);
  fn_.set_operand(id, index, value);
  touch(id);
}

bool Rewriter::replace(OpId id, const std::vector<ValueId>& values) {
  const std::vector<ValueId> results = fn_.op(id).results;
  SPMD_CHECK(values.size() == results.size());
  for (size_t i = 0; i < values.size(); ++i) {
    SPMD_CHECK(type(values[i]) == type(results[i]), "{} replaced by {} for {}",
               to_string(type(results[i])), to_string(type(values[i])), name_of(op(id).code));
    if (fn_.value(values[i]).def == id || !sharding_fits(fn_, results[i], values[i])) return false;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    Value& value = fn_.value(values[i]);
    if (!value.sharding) value.sharding = fn_.value(results[i]).sharding;
    touch_users(results[i]);
    fn_.replace_all_uses(results[i], values[i]);
    if (value.def != OpId::kNone) touch(value.def);
  }
  for (ValueId operand : fn_.op(id).operands) {
    if (const OpId def = fn_.value(operand).def; def != OpId::kNone) touch(def);
  }
  fn_.erase_op(id);
  return true;
}

class RewriteDriver {
 public:
  RewriteDriver(const Module& module, Function& fn, const PatternSet& patterns)
      : rewriter_(module, fn), fn_(fn), patterns_(patterns), given_ops_(fn.num_op_ids()) {}

  bool run() {
    walk(fn_, [&](OpId id) { rewriter_.touch(id); });
    bool changed = false;
    while (!rewriter_.queue_.empty()) {
      const OpId id = rewriter_.queue_.front();
      rewriter_.queue_.pop_front();
      rewriter_.queued_[index_of(id)] = false;
      if (!fn_.is_erased(id)) changed |= visit(id);
    }
    return changed;
  }

 private:
  bool visit(OpId id) {
    // Erasing what a pattern created in vain is no change.
    if (erase_if_dead(id)) return index_of(id) < given_ops_;
    for (Pattern pattern : patterns_.of(fn_.op(id).code)) {
      const size_t first_new = fn_.num_op_ids();
      const bool applied = pattern(rewriter_, id);
      // What a pattern created is looked at as well.
      for (size_t i = first_new; i < fn_.num_op_ids(); ++i) rewriter_.touch(static_cast<OpId>(i));
      if (applied) return true;
    }
    return false;
  }

  bool erase_if_dead(OpId id) {
    for (ValueId result : fn_.op(id).results) {
      if (!fn_.value(result).uses.empty()) return false;
    }
    if (!is_pure(rewriter_.module(), fn_, id)) return false;
    for (ValueId operand : fn_.op(id).operands) {
      if (const OpId def = fn_.value(operand).def; def != OpId::kNone) rewriter_.touch(def);
    }
    fn_.erase_op(id);
    return true;
  }

  Rewriter rewriter_;
  Function& fn_;
  const PatternSet& patterns_;
  size_t given_ops_;
};

bool rewrite_greedily(const Module& module, Function& fn, const PatternSet& patterns) {
  return RewriteDriver(module, fn, patterns).run();
}

bool rewrite_greedily(Module& module, const PatternSet& patterns) {
  bool changed = false;
  for (const auto& fn : module.functions()) changed |= rewrite_greedily(module, *fn, patterns);
  return changed;
}

}  // namespace spmd
