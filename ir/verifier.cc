#include "ir/verifier.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/text.h"
#include "support/error.h"

namespace spmd {
namespace {

// Ops whose result types follow from operands and attributes alone.
bool has_inferred_types(OpCode code) {
  switch (code) {
    case OpCode::kConvert:
    case OpCode::kBroadcastInDim:
    case OpCode::kReshape:
    case OpCode::kBitcastConvert:
    case OpCode::kIota:
    case OpCode::kRngBitGenerator:
    case OpCode::kCall:
    case OpCode::kCustomCall:
    case OpCode::kIf:
    case OpCode::kCase:
    case OpCode::kAllGather:
    case OpCode::kAllToAll:
    case OpCode::kReduceScatter:
    case OpCode::kManualComputation:
      return false;
    default:
      return true;
  }
}

// The element type of results that may differ from the inferred one: a dot or convolution may
// widen, a reduction may accumulate in another type.
bool may_change_dtype(OpCode code) {
  return code == OpCode::kDotGeneral || code == OpCode::kConvolution || code == OpCode::kReduce ||
         code == OpCode::kReduceWindow || code == OpCode::kTopK;
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& fn)
      : module_(module), fn_(fn), defined_(fn.num_value_ids(), false) {}

  void run() {
    const Block& body = fn_.block(fn_.body());
    if (body.last == OpId::kNone || fn_.op(body.last).code != OpCode::kReturn) {
      throw UserError(place(), "the body does not end in a return");
    }
    if (fn_.argument_info.size() != body.args.size()) {
      throw UserError(place(), "argument attributes do not match the arguments");
    }
    if (fn_.result_info.size() != fn_.results().size()) {
      throw UserError(place(), "result attributes do not match the results");
    }
    for (size_t i = 0; i < fn_.results().size(); ++i) {
      if (fn_.result_info[i].sharding) {
        check_sharding(*fn_.result_info[i].sharding, fn_.type(fn_.results()[i]).rank(),
                       module_.mesh, fmt::format("{}: result {}", place(), i));
      }
    }
    check_aliases();
    check_block(fn_.body());
  }

 private:
  std::string place() const { return fmt::format("{}: @{}", module_.source, fn_.name()); }

  void check_aliases() const {
    std::vector<bool> replaces(fn_.results().size(), false);
    for (size_t i = 0; i < fn_.argument_info.size(); ++i) {
      const int result = fn_.argument_info[i].aliased_result;
      if (result < 0) continue;
      if (static_cast<size_t>(result) >= fn_.results().size()) {
        throw UserError(place(), fmt::format("argument {} is replaced by result {}, there are {}",
                                             i, result, fn_.results().size()));
      }
      if (replaces[static_cast<size_t>(result)]) {
        throw UserError(place(), fmt::format("result {} replaces two arguments", result),
                        "a result can take the place of one donated argument only");
      }
      replaces[static_cast<size_t>(result)] = true;
      const TensorType& argument = fn_.type(fn_.arguments()[i]);
      const TensorType& replaced = fn_.type(fn_.results()[static_cast<size_t>(result)]);
      if (argument != replaced) {
        throw UserError(place(),
                        fmt::format("argument {} of type {} is replaced by result {} of type {}", i,
                                    to_string(argument), result, to_string(replaced)));
      }
    }
  }

  [[noreturn]] void fail(OpId id, const std::string& fact) const {
    const Op& op = fn_.op(id);
    const std::string where = op.location ? op.location->to_string() : place();
    throw UserError(where, fmt::format("{}: {}", name_of(op.code), fact),
                    print_op(module_, fn_, id));
  }

  void check_block(BlockId id) {
    for (ValueId arg : fn_.block(id).args) defined_[index_of(arg)] = true;
    for (OpId op = fn_.block(id).first; op != OpId::kNone; op = fn_.op(op).next) check_op(op);
    // Values of a region are out of scope after it.
    for (OpId op = fn_.block(id).first; op != OpId::kNone; op = fn_.op(op).next) {
      for (ValueId result : fn_.op(op).results) defined_[index_of(result)] = false;
    }
    for (ValueId arg : fn_.block(id).args) defined_[index_of(arg)] = false;
  }

  void check_op(OpId id) {
    const Op& op = fn_.op(id);
    SPMD_CHECK(family_of(op.code) != OpFamily::kExpanded, "{} was not expanded",
               name_of(op.code));
    for (ValueId operand : op.operands) {
      if (!defined_[index_of(operand)]) fail(id, "an operand is used before it is defined");
    }
    check_types(id);
    check_regions(id);
    for (ValueId result : op.results) {
      const Value& value = fn_.value(result);
      if (value.sharding) {
        check_sharding(*value.sharding, value.type.rank(), module_.mesh,
                       op.location ? op.location->to_string() : place());
      }
    }
    for (BlockId region : op.regions) check_block(region);
    for (ValueId result : op.results) defined_[index_of(result)] = true;
  }

  void check_types(OpId id) {
    const Op& op = fn_.op(id);
    if (!has_inferred_types(op.code)) {
      check_free_types(id);
      return;
    }
    std::vector<TensorType> types;
    try {
      types = infer_types(fn_, op.code, op.operands, op.attrs);
    } catch (const UserError& error) {
      fail(id, error.what());
    }
    if (types.size() != op.results.size()) {
      fail(id, fmt::format("has {} results, expected {}", op.results.size(), types.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const TensorType& found = fn_.type(op.results[i]);
      if (found != types[i] && !(may_change_dtype(op.code) && found.shape == types[i].shape)) {
        fail(id, fmt::format("result {} has type {}, expected {}", i, to_string(found),
                             to_string(types[i])));
      }
    }
  }

  // Ops whose result type is part of the op.
  void check_free_types(OpId id) {
    const Op& op = fn_.op(id);
    const auto operand = [&](size_t i) -> const TensorType& { return fn_.type(op.operands[i]); };
    const auto need = [&](size_t operands, size_t results) {
      if (op.operands.size() != operands || op.results.size() != results) {
        fail(id, fmt::format("has {} operands and {} results, expected {} and {}",
                             op.operands.size(), op.results.size(), operands, results));
      }
    };
    switch (op.code) {
      case OpCode::kConvert:
        need(1, 1);
        if (operand(0).shape != fn_.type(op.results[0]).shape) fail(id, "shapes differ");
        return;
      case OpCode::kReshape:
        need(1, 1);
        if (operand(0).dtype != fn_.type(op.results[0]).dtype ||
            operand(0).num_elements() != fn_.type(op.results[0]).num_elements()) {
          fail(id, "element types or numbers of elements differ");
        }
        return;
      case OpCode::kBroadcastInDim:
        need(1, 1);
        return check_broadcast(id);
      case OpCode::kIota: {
        need(0, 1);
        const int64_t dim = op.as<IotaAttrs>().dim;
        if (dim < 0 || dim >= fn_.type(op.results[0]).rank()) fail(id, "dimension out of range");
        return;
      }
      case OpCode::kCall:
        return check_call(id);
      default:
        return;
    }
  }

  void check_broadcast(OpId id) {
    const Op& op = fn_.op(id);
    const TensorType& from = fn_.type(op.operands[0]);
    const TensorType& to = fn_.type(op.results[0]);
    const Dims& dims = op.as<BroadcastInDimAttrs>().dims;
    if (dims.size() != from.shape.size() || from.dtype != to.dtype) {
      fail(id, "dims must have one entry per operand dimension, element types must agree");
    }
    std::vector<bool> seen(to.shape.size(), false);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || dims[i] >= to.rank() || seen[static_cast<size_t>(dims[i])]) {
        fail(id, "dims are out of range or occur twice");
      }
      seen[static_cast<size_t>(dims[i])] = true;
      if (from.shape[i] != 1 && from.shape[i] != to.dim(dims[i])) {
        fail(id,
             fmt::format("dimension {} of {} does not fit {}", i, to_string(from), to_string(to)));
      }
    }
  }

  void check_call(OpId id) {
    const Op& op = fn_.op(id);
    const int callee = op.as<CallAttrs>().callee;
    if (callee < 0 || static_cast<size_t>(callee) >= module_.functions().size()) {
      fail(id, "calls a function that does not exist");
    }
    const Function& called = module_.function(callee);
    if (called.block(called.body()).last == OpId::kNone) fail(id, "calls a function without body");
    if (called.arguments().size() != op.operands.size() ||
        called.results().size() != op.results.size()) {
      fail(id, fmt::format("does not match the signature of @{}", called.name()));
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (fn_.type(op.operands[i]) != called.type(called.arguments()[i])) {
        fail(id, fmt::format("operand {} does not match the signature of @{}", i, called.name()));
      }
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (fn_.type(op.results[i]) != called.type(called.results()[i])) {
        fail(id, fmt::format("result {} does not match the signature of @{}", i, called.name()));
      }
    }
  }

  size_t expected_regions(const Op& op) const {
    switch (op.code) {
      case OpCode::kReduce:
      case OpCode::kReduceWindow:
      case OpCode::kScatter:
      case OpCode::kSort:
      case OpCode::kAllReduce:
      case OpCode::kReduceScatter:
      case OpCode::kManualComputation:
        return 1;
      case OpCode::kSelectAndScatter:
      case OpCode::kWhile:
      case OpCode::kIf:
        return 2;
      case OpCode::kCase:
        return op.regions.size();
      default:
        return 0;
    }
  }

  void check_regions(OpId id) {
    const Op& op = fn_.op(id);
    if (op.regions.size() != expected_regions(op)) {
      fail(id, fmt::format("has {} regions, expected {}", op.regions.size(), expected_regions(op)));
    }
    for (BlockId region : op.regions) {
      const Block& block = fn_.block(region);
      if (block.last == OpId::kNone || fn_.op(block.last).code != OpCode::kReturn) {
        fail(id, "a region does not end in a return");
      }
    }
    if (op.code == OpCode::kWhile) check_while(id);
    if (op.code == OpCode::kIf || op.code == OpCode::kCase) check_branches(id);
    if (op.code == OpCode::kManualComputation) check_manual(id);
  }

  void require_types(OpId id, const std::vector<ValueId>& found,
                     const std::vector<ValueId>& expected, const char* what) {
    bool equal = found.size() == expected.size();
    for (size_t i = 0; equal && i < found.size(); ++i) {
      equal = fn_.type(found[i]) == fn_.type(expected[i]);
    }
    if (!equal) fail(id, fmt::format("{} do not match", what));
  }

  void check_while(OpId id) {
    const Op& op = fn_.op(id);
    for (BlockId region : op.regions) {
      require_types(id, fn_.block(region).args, op.operands, "region arguments and operands");
    }
    const std::vector<ValueId>& predicate = fn_.op(fn_.terminator(op.regions[0])).operands;
    if (predicate.size() != 1 || fn_.type(predicate[0]) != TensorType{DType::kBool, {}}) {
      fail(id, "the condition must return one tensor<i1>");
    }
    require_types(id, fn_.op(fn_.terminator(op.regions[1])).operands, op.operands,
                  "results of the body and operands");
  }

  void check_branches(OpId id) {
    const Op& op = fn_.op(id);
    if (op.operands.size() != 1) fail(id, "expected the branch index as the only operand");
    for (BlockId region : op.regions) {
      require_types(id, fn_.op(fn_.terminator(region)).operands, op.results,
                    "results of a branch and of the op");
    }
  }

  void check_manual(OpId id) {
    const Op& op = fn_.op(id);
    const auto& attrs = op.as<ManualComputationAttrs>();
    if (attrs.in_shardings.size() != op.operands.size() ||
        attrs.out_shardings.size() != op.results.size() ||
        fn_.block(op.regions[0]).args.size() != op.operands.size()) {
      fail(id, "needs one sharding per operand and result, one region argument per operand");
    }
    const std::vector<ValueId>& args = fn_.block(op.regions[0]).args;
    const std::vector<ValueId>& inner = fn_.op(fn_.terminator(op.regions[0])).operands;
    if (inner.size() != op.results.size()) fail(id, "the region returns another number of values");
    for (size_t i = 0; i < args.size(); ++i) {
      check_manual_type(id, op.operands[i], args[i], attrs.in_shardings[i], attrs.manual_axes);
    }
    for (size_t i = 0; i < inner.size(); ++i) {
      check_manual_type(id, op.results[i], inner[i], attrs.out_shardings[i], attrs.manual_axes);
    }
  }

  // Inside, a dimension is as long as its shards along the manual axes.
  void check_manual_type(OpId id, ValueId outer, ValueId inner, const Sharding& sharding,
                         const AxisList& manual_axes) {
    TensorType expected = fn_.type(outer);
    check_sharding(sharding, expected.rank(), module_.mesh, place());
    for (size_t d = 0; d < expected.shape.size(); ++d) {
      for (const AxisRef& axis : sharding.dims[d].axes) {
        const bool manual =
            std::any_of(manual_axes.begin(), manual_axes.end(),
                        [&](const AxisRef& other) { return overlaps(axis, other, module_.mesh); });
        const int64_t shards = manual ? axis.size_in(module_.mesh) : 1;
        if (expected.shape[d] % shards != 0) {
          fail(id, fmt::format("dimension {} of {} does not divide into {} manual shards", d,
                               to_string(fn_.type(outer)), shards));
        }
        expected.shape[d] /= shards;
      }
    }
    if (fn_.type(inner) != expected) {
      fail(id, fmt::format("{} is {} inside, expected {}", to_string(fn_.type(outer)),
                           to_string(fn_.type(inner)), to_string(expected)));
    }
  }

  const Module& module_;
  const Function& fn_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Module& module) {
  module.main();
  for (const auto& fn : module.functions()) FunctionVerifier(module, *fn).run();
}

}  // namespace spmd
