#include "ir/compare.h"

#include "support/error.h"

namespace spmd {
namespace {

// Null for a sharding that says nothing.
const Sharding* meaningful(const ShardingRef& sharding) {
  if (!sharding) return nullptr;
  for (const DimSharding& dim : sharding->dims) {
    if (!dim.open || !dim.axes.empty() || dim.priority) return sharding.get();
  }
  const bool empty =
      sharding->replicated.empty() && sharding->unreduced.empty() && sharding->manual.empty();
  return empty ? nullptr : sharding.get();
}

bool equal(const ShardingRef& a, const ShardingRef& b) {
  const Sharding *left = meaningful(a), *right = meaningful(b);
  if (left == nullptr || right == nullptr) return left == right;
  return *left == *right;
}

class FunctionComparer {
 public:
  FunctionComparer(const Module& a, const Module& b, const Function& left, const Function& right,
                   const CompareOptions& options)
      : module_a_(a), module_b_(b), a_(left), b_(right), options_(options) {}

  std::optional<std::string> run() {
    if (a_.is_private() != b_.is_private()) return at("visibility");
    if (a_.arguments().size() != b_.arguments().size()) return at("number of arguments");
    for (size_t i = 0; i < a_.arguments().size(); ++i) {
      const Value &left = a_.value(a_.arguments()[i]), &right = b_.value(b_.arguments()[i]);
      if (!equal(left.sharding, right.sharding))
        return at(fmt::format("sharding of argument {}", i));
    }
    if (a_.argument_info.size() != b_.argument_info.size()) return at("argument info");
    for (size_t i = 0; i < a_.argument_info.size(); ++i) {
      if (a_.argument_info[i] != b_.argument_info[i]) {
        return at(fmt::format("info of argument {}", i));
      }
    }
    if (a_.result_info.size() != b_.result_info.size()) return at("result info");
    for (size_t i = 0; i < a_.result_info.size(); ++i) {
      if (a_.result_info[i].name != b_.result_info[i].name)
        return at(fmt::format("name of result {}", i));
      if (a_.result_info[i].global_shape != b_.result_info[i].global_shape) {
        return at(fmt::format("global shape of result {}", i));
      }
      if (!equal(a_.result_info[i].sharding, b_.result_info[i].sharding)) {
        return at(fmt::format("sharding of result {}", i));
      }
    }
    same_.assign(a_.num_value_ids(), ValueId::kNone);
    return compare_blocks(a_.body(), b_.body());
  }

 private:
  std::string at(const std::string& what) const {
    return fmt::format("@{}: {} differs", a_.name(), what);
  }
  std::string at_op(OpId id, const std::string& what) const {
    return fmt::format("@{}, op {} ({}): {} differs", a_.name(), count_, name_of(a_.op(id).code),
                       what);
  }

  std::optional<std::string> compare_blocks(BlockId left, BlockId right) {
    const Block &a = a_.block(left), &b = b_.block(right);
    if (a.args.size() != b.args.size()) return at("number of region arguments");
    for (size_t i = 0; i < a.args.size(); ++i) {
      if (a_.type(a.args[i]) != b_.type(b.args[i])) {
        return at(fmt::format("type of argument {} of a region", i));
      }
      same_[index_of(a.args[i])] = b.args[i];
    }
    OpId other = b.first;
    for (OpId id = a.first; id != OpId::kNone; id = a_.op(id).next, other = b_.op(other).next) {
      if (other == OpId::kNone) return at_op(id, "presence");
      if (auto difference = compare_ops(id, other)) return difference;
      ++count_;
    }
    if (other != OpId::kNone) return at("number of ops");
    return std::nullopt;
  }

  std::optional<std::string> compare_ops(OpId left, OpId right) {
    const Op &a = a_.op(left), &b = b_.op(right);
    if (a.code != b.code) return at_op(left, fmt::format("opcode (other: {})", name_of(b.code)));
    if (a.operands.size() != b.operands.size()) return at_op(left, "number of operands");
    for (size_t i = 0; i < a.operands.size(); ++i) {
      if (same_[index_of(a.operands[i])] != b.operands[i]) {
        return at_op(left, fmt::format("operand {}", i));
      }
    }
    if (a.code == OpCode::kCall) {
      const std::string& callee_a = module_a_.function(a.as<CallAttrs>().callee).name();
      if (callee_a != module_b_.function(b.as<CallAttrs>().callee).name()) {
        return at_op(left, "callee");
      }
    } else if (a.attrs != b.attrs) {
      return at_op(left, "attributes");
    }
    if (options_.locations && !same_location(a.location, b.location))
      return at_op(left, "location");
    if (a.results.size() != b.results.size()) return at_op(left, "number of results");
    for (size_t i = 0; i < a.results.size(); ++i) {
      const Value &x = a_.value(a.results[i]), &y = b_.value(b.results[i]);
      if (x.type != y.type) return at_op(left, fmt::format("type of result {}", i));
      if (!equal(x.sharding, y.sharding))
        return at_op(left, fmt::format("sharding of result {}", i));
      same_[index_of(a.results[i])] = b.results[i];
    }
    if (a.regions.size() != b.regions.size()) return at_op(left, "number of regions");
    for (size_t i = 0; i < a.regions.size(); ++i) {
      if (auto difference = compare_blocks(a.regions[i], b.regions[i])) return difference;
    }
    return std::nullopt;
  }

  static bool same_location(const LocationRef& a, const LocationRef& b) {
    if (!a || !b) return a == b;
    return *a == *b;
  }

  const Module &module_a_, &module_b_;
  const Function &a_, &b_;
  const CompareOptions& options_;
  std::vector<ValueId> same_;  // value of a -> value of b
  int count_ = 0;
};

}  // namespace

std::optional<std::string> first_difference(const Module& a, const Module& b,
                                            const CompareOptions& options) {
  if (a.name != b.name) return fmt::format("the module's name differs: {}, {}", a.name, b.name);
  if (!(a.mesh == b.mesh)) {
    return fmt::format("the mesh differs: {}, {}", a.mesh.to_string(), b.mesh.to_string());
  }
  if (a.mesh.num_axes() > 0 && a.mesh_name != b.mesh_name) return "the mesh's name differs";
  if (a.functions().size() != b.functions().size()) return "the number of functions differs";
  for (size_t i = 0; i < a.functions().size(); ++i) {
    const Function &left = *a.functions()[i], &right = *b.functions()[i];
    if (left.name() != right.name()) {
      return fmt::format("function {} differs: @{}, @{}", i, left.name(), right.name());
    }
    if (auto difference = FunctionComparer(a, b, left, right, options).run()) return difference;
  }
  return std::nullopt;
}

}  // namespace spmd
