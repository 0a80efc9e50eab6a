#include "ir/verifier.h"

#include "ir/builder.h"
#include "ir/verify/families.h"
#include "support/error.h"

namespace spmd {
namespace {

using verifier::OpView;

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
         code == OpCode::kReduceWindow;
}

size_t expected_regions(const Op& op) {
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

void verify_family(const OpView& v) {
  switch (family_of(v.op.code)) {
    case OpFamily::kElementwise:
      return verifier::verify_elementwise(v);
    case OpFamily::kShape:
      return verifier::verify_shape(v);
    case OpFamily::kContraction:
      return verifier::verify_contraction(v);
    case OpFamily::kAttention:
      return verifier::verify_attention(v);
    case OpFamily::kConvolution:
      return verifier::verify_convolution(v);
    case OpFamily::kLinalg:  // types say it all
      return;
    case OpFamily::kReduction:
      return verifier::verify_reduction(v);
    case OpFamily::kIndexing:
      return verifier::verify_indexing(v);
    case OpFamily::kWindow:
      return verifier::verify_window(v);
    case OpFamily::kOrdering:
      return verifier::verify_ordering(v);
    case OpFamily::kRandom:
      return verifier::verify_random(v);
    case OpFamily::kControlFlow:
      return verifier::verify_control_flow(v);
    case OpFamily::kCollective:
      return verifier::verify_collective(v);
    case OpFamily::kExpanded:
      SPMD_UNREACHABLE("{} was not expanded", name_of(v.op.code));
  }
}

// Tokens order effects and are handed on; they hold no data.
void check_tokens(const OpView& v) {
  if (family_of(v.op.code) == OpFamily::kControlFlow) return;
  const auto check = [&](const char* what, const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      v.require(v.fn.type(values[i]).dtype != DType::kToken, "{} {} is a token, expected a tensor",
                what, i);
    }
  };
  check("operand", v.op.operands);
  check("result", v.op.results);
}

void check_inferred_types(const OpView& v) {
  std::vector<TensorType> types;
  try {
    types = infer_types(v.fn, v.op.code, v.op.operands, v.op.attrs);
  } catch (const UserError& error) {
    v.fail(error.what());
  }
  v.require(types.size() == v.op.results.size(), "has {} results, expected {}", v.op.results.size(),
            types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& found = v.result(i);
    const bool fits =
        found == types[i] || (may_change_dtype(v.op.code) && found.shape == types[i].shape);
    v.require(fits, "result {} has type {}, expected {}", i, found, types[i]);
  }
}

void check_regions(const OpView& v) {
  v.require(v.op.regions.size() == expected_regions(v.op), "has {} regions, expected {}",
            v.op.regions.size(), expected_regions(v.op));
  for (BlockId region : v.op.regions) {
    const OpId last = v.fn.terminator(region);
    v.require(last != OpId::kNone && v.fn.op(last).code == OpCode::kReturn,
              "a region does not end in a return");
  }
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& fn, const PlaceOfOp& place_of)
      : module_(module), fn_(fn), place_of_(place_of), defined_(fn.num_value_ids(), false) {}

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
    for (size_t i = 0; i < body.args.size(); ++i) {
      const Value& argument = fn_.value(body.args[i]);
      check_global_shape(fn_.argument_info[i].global_shape, argument.type, argument.sharding,
                         fmt::format("argument {}", i));
    }
    check_results();
    check_aliases();
    check_block(fn_.body());
  }

 private:
  std::string place() const { return fmt::format("{}: @{}", module_.source, fn_.name()); }

  void check_results() const {
    for (size_t i = 0; i < fn_.results().size(); ++i) {
      const ResultInfo& info = fn_.result_info[i];
      const TensorType& type = fn_.type(fn_.results()[i]);
      const std::string what = fmt::format("result {}", i);
      if (info.sharding) {
        check_sharding_of_atoms(*info.sharding, type.rank(), module_.mesh, place() + ": " + what);
      }
      check_global_shape(info.global_shape, type, info.sharding, what);
    }
  }

  // The whole tensor without padding fits into its shards.
  void check_global_shape(const std::optional<Dims>& global, const TensorType& local,
                          const ShardingRef& sharding, const std::string& what) const {
    if (!global) return;
    bool fits = global->size() == local.shape.size() &&
                (!sharding || sharding->dims.size() == local.shape.size());
    for (size_t d = 0; fits && d < global->size(); ++d) {
      const int64_t shards = sharding ? axes_size(sharding->dims[d].axes, module_.mesh) : 1;
      fits = (*global)[d] >= 0 && (*global)[d] <= local.shape[d] * shards;
    }
    if (!fits) {
      throw UserError(place(),
                      fmt::format("{}: its global shape {} does not fit shards of {}", what,
                                  to_string(local.with_shape(*global)), to_string(local)));
    }
  }

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

  void check_block(BlockId id) {
    for (ValueId arg : fn_.block(id).args) {
      check_value(arg, [&] { return place(); });
      defined_[index_of(arg)] = true;
    }
    for (OpId op = fn_.block(id).first; op != OpId::kNone; op = fn_.op(op).next) check_op(op);
    // Values of a region are out of scope after it.
    for (OpId op = fn_.block(id).first; op != OpId::kNone; op = fn_.op(op).next) {
      for (ValueId result : fn_.op(op).results) defined_[index_of(result)] = false;
    }
    for (ValueId arg : fn_.block(id).args) defined_[index_of(arg)] = false;
  }

  void check_op(OpId id) {
    const OpView v(module_, fn_, id, place_of_);
    for (ValueId operand : v.op.operands) {
      v.require(defined_[index_of(operand)], "an operand is used before it is defined");
    }
    v.require(v.op.code != OpCode::kReturn || v.op.next == OpId::kNone,
              "is not the last op of its block");
    for (ValueId result : v.op.results) check_value(result, [&] { return v.place(); });
    check_tokens(v);
    check_regions(v);
    v.require(family_of(v.op.code) != OpFamily::kExpanded,
              "only stands in programs that are read as StableHLO, HLO or ONNX");
    if (has_inferred_types(v.op.code)) check_inferred_types(v);
    verify_family(v);
    for (BlockId region : v.op.regions) check_block(region);
    for (ValueId result : v.op.results) defined_[index_of(result)] = true;
  }

  template <typename Place>
  void check_value(ValueId id, Place&& place) const {
    const Value& value = fn_.value(id);
    for (int64_t size : value.type.shape) {
      if (size >= 0) continue;
      throw UserError(place(),
                      fmt::format("{} has a size that is not known", to_string(value.type)),
                      "export the program for fixed shapes");
    }
    if (!is_valid(value.type)) {
      throw UserError(place(), fmt::format("{} is larger than any memory", to_string(value.type)));
    }
    if (value.sharding) {
      check_sharding_of_atoms(*value.sharding, value.type.rank(), module_.mesh, place());
    }
  }

  const Module& module_;
  const Function& fn_;
  const PlaceOfOp& place_of_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Module& module, const PlaceOfOp& place_of) {
  module.main();
  for (const auto& fn : module.functions()) FunctionVerifier(module, *fn, place_of).run();
}

}  // namespace spmd
