#include "passes/rewrite/op_equality.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

namespace spmd {
namespace {

size_t mix(size_t seed, size_t value) {
  return (seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2))) *
         0x9ddfea08eb382d69ULL;
}

size_t hash_dims(size_t seed, const Dims& dims) {
  for (int64_t dim : dims) seed = mix(seed, static_cast<size_t>(dim));
  return mix(seed, dims.size());
}

// The attributes that many ops with the same operands differ in.
size_t hash_attrs(size_t seed, const Attrs& attrs) {
  constexpr size_t kHashedBytes = 4096;
  if (const auto* constant = std::get_if<ConstantAttrs>(&attrs)) {
    const Literal& value = constant->value;
    if (value.empty()) return seed;
    const auto* bytes = reinterpret_cast<const char*>(value.data());
    return mix(
        seed, std::hash<std::string_view>{}({bytes, std::min(value.stored_bytes(), kHashedBytes)}));
  }
  if (const auto* iota = std::get_if<IotaAttrs>(&attrs)) {
    return mix(seed, static_cast<size_t>(iota->dim));
  }
  if (const auto* slice = std::get_if<SliceAttrs>(&attrs)) return hash_dims(seed, slice->start);
  if (const auto* broadcast = std::get_if<BroadcastInDimAttrs>(&attrs)) {
    return hash_dims(seed, broadcast->dims);
  }
  if (const auto* reduce = std::get_if<ReduceAttrs>(&attrs)) return hash_dims(seed, reduce->dims);
  if (const auto* transpose = std::get_if<TransposeAttrs>(&attrs)) {
    return hash_dims(seed, transpose->permutation);
  }
  return mix(seed, attrs.index());
}

bool equal_shardings(const ShardingRef& a, const ShardingRef& b) {
  return a == b || (a && b && *a == *b);
}

class Comparison {
 public:
  explicit Comparison(const Function& fn) : fn_(fn) {}

  bool ops(OpId left, OpId right) {
    const Op &a = fn_.op(left), &b = fn_.op(right);
    if (a.code != b.code || a.operands.size() != b.operands.size() ||
        a.results.size() != b.results.size() || a.regions.size() != b.regions.size()) {
      return false;
    }
    if (!operands(a, b) || a.attrs != b.attrs) return false;
    for (size_t i = 0; i < a.results.size(); ++i) {
      if (!same_result(a.results[i], b.results[i])) return false;
      counterpart_[b.results[i]] = a.results[i];
    }
    for (size_t i = 0; i < a.regions.size(); ++i) {
      if (!blocks(a.regions[i], b.regions[i])) return false;
    }
    return true;
  }

 private:
  bool operands(const Op& a, const Op& b) const {
    const auto same = [&](size_t i, size_t j) { return a.operands[i] == mapped(b.operands[j]); };
    if (is_commutative(a.code) && same(0, 1) && same(1, 0)) return true;
    for (size_t i = 0; i < a.operands.size(); ++i) {
      if (!same(i, i)) return false;
    }
    return true;
  }

  bool same_result(ValueId a, ValueId b) const {
    const Value &left = fn_.value(a), &right = fn_.value(b);
    return left.type == right.type && equal_shardings(left.sharding, right.sharding);
  }

  bool blocks(BlockId left, BlockId right) {
    const Block &a = fn_.block(left), &b = fn_.block(right);
    if (a.args.size() != b.args.size()) return false;
    for (size_t i = 0; i < a.args.size(); ++i) {
      if (!same_result(a.args[i], b.args[i])) return false;
      counterpart_[b.args[i]] = a.args[i];
    }
    OpId x = a.first, y = b.first;
    for (; x != OpId::kNone && y != OpId::kNone; x = fn_.op(x).next, y = fn_.op(y).next) {
      if (!ops(x, y)) return false;
    }
    return x == y;
  }

  // The left value that corresponds to a value of the right side.
  ValueId mapped(ValueId value) const {
    const auto found = counterpart_.find(value);
    return found == counterpart_.end() ? value : found->second;
  }

  const Function& fn_;
  std::unordered_map<ValueId, ValueId> counterpart_;
};

}  // namespace

bool equal_ops(const Function& fn, OpId a, OpId b) { return Comparison(fn).ops(a, b); }

size_t hash_op(const Function& fn, OpId id) {
  const Op& op = fn.op(id);
  size_t hash = mix(static_cast<size_t>(op.code), op.operands.size());
  if (is_commutative(op.code)) {
    hash = mix(hash, index_of(op.operands[0]) + index_of(op.operands[1]));
  } else {
    for (ValueId operand : op.operands) hash = mix(hash, index_of(operand));
  }
  for (ValueId result : op.results) {
    hash = mix(hash_dims(hash, fn.type(result).shape), static_cast<size_t>(fn.type(result).dtype));
  }
  for (BlockId region : op.regions) {
    for (OpId inner = fn.block(region).first; inner != OpId::kNone; inner = fn.op(inner).next) {
      hash = mix(hash, static_cast<size_t>(fn.op(inner).code));
    }
  }
  return hash_attrs(hash, op.attrs);
}

}  // namespace spmd
