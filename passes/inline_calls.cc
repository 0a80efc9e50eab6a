#include "passes/inline_calls.h"

#include <algorithm>

#include "ir/builder.h"
#include "support/error.h"

namespace spmd {
namespace {

// More ops than this in one function are a file gone wrong (calls that double at every level).
constexpr size_t kMaxOps = 50'000'000;

std::vector<OpId> calls_in(const Function& fn) {
  std::vector<OpId> calls;
  walk(fn, [&](OpId id) {
    if (fn.op(id).code == OpCode::kCall) calls.push_back(id);
  });
  return calls;
}

std::string place_of(const Module& module, const Op& op) {
  return op.location ? op.location->to_string() : module.source;
}

// Functions reachable from main, callees before callers. Throws UserError for recursion.
class CallOrder {
 public:
  explicit CallOrder(const Module& module)
      : module_(module), states_(module.functions().size(), State::kUnseen) {
    const auto main = module.find_function("main");
    if (!main) module.main();  // throws
    enter(*main);
    // An explicit stack: a file may chain calls deeper than ours goes.
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.calls.size()) {
        states_[static_cast<size_t>(frame.function)] = State::kDone;
        order_.push_back(frame.function);
        stack_.pop_back();
      } else {
        visit_callee(frame.function, frame.calls[frame.next++]);
      }
    }
  }
  const std::vector<int>& order() const { return order_; }

 private:
  enum class State : uint8_t { kUnseen, kOpen, kDone };
  struct Frame {
    int function;
    std::vector<OpId> calls;
    size_t next = 0;
  };

  void enter(int function) {
    states_[static_cast<size_t>(function)] = State::kOpen;
    stack_.push_back({function, calls_in(module_.function(function))});
  }

  void visit_callee(int caller, OpId call) {
    const Op& op = module_.function(caller).op(call);
    const int callee = op.as<CallAttrs>().callee;
    const State state = states_[static_cast<size_t>(callee)];
    if (state == State::kOpen) {
      throw UserError(place_of(module_, op),
                      fmt::format("function @{} calls itself", module_.function(callee).name()),
                      "recursive functions cannot be compiled; use a loop");
    }
    if (state == State::kUnseen) enter(callee);
  }

  const Module& module_;
  std::vector<State> states_;
  std::vector<Frame> stack_;
  std::vector<int> order_;
};

void check_size(const Module& module, const std::vector<int>& order) {
  std::vector<size_t> size(module.functions().size(), 0);
  for (int index : order) {
    const Function& fn = module.function(index);
    size_t& total = size[static_cast<size_t>(index)];
    total = fn.num_live_ops();
    for (OpId call : calls_in(fn)) {
      total += size[static_cast<size_t>(fn.op(call).as<CallAttrs>().callee)];
      if (total > kMaxOps) {
        throw UserError(
            place_of(module, fn.op(call)),
            fmt::format("inlining the calls of @{} gives more than {} ops", fn.name(), kMaxOps),
            "share less code through nested calls");
      }
    }
  }
}

// `value` with the annotation that the callee or the call put on it.
ValueId annotated(Builder& builder, ValueId value, const ShardingRef& sharding) {
  Function& fn = builder.function();
  if (!sharding) return value;
  const ShardingRef present = fn.value(value).sharding;
  if (present && *present == *sharding) return value;
  if (!present && fn.def(value) != nullptr) {
    fn.value(value).sharding = sharding;
    return value;
  }
  const ValueId wished =
      builder.value(OpCode::kShardingConstraint, {value}, ReshardAttrs{*sharding});
  fn.value(wished).sharding = sharding;
  return wished;
}

void inline_call(const Module& module, Function& fn, OpId call) {
  const Function& callee = module.function(fn.op(call).as<CallAttrs>().callee);
  Builder builder = Builder::before(fn, call);
  builder.location = fn.op(call).location;
  ValueMap values;
  const std::vector<ValueId>& arguments = callee.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[arguments[i]] =
        annotated(builder, fn.op(call).operands[i], callee.value(arguments[i]).sharding);
  }
  const std::vector<ValueId> results = inline_block(callee, callee.body(), builder, values);
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId result = results[i];
    if (i < callee.result_info.size()) {
      result = annotated(builder, result, callee.result_info[i].sharding);
    }
    const ValueId old = fn.op(call).results[i];
    fn.replace_all_uses(old, annotated(builder, result, fn.value(old).sharding));
  }
  fn.erase_op(call);
}

bool inline_calls(Module& module, PassContext&) {
  const std::vector<int> order = CallOrder(module).order();
  check_size(module, order);
  for (int index : order) {
    Function& fn = module.function(index);
    for (OpId call : calls_in(fn)) inline_call(module, fn, call);
  }
  const size_t functions = module.functions().size();
  module.drop_unreachable_functions();
  return order.size() > 1 || module.functions().size() != functions;
}

}  // namespace

Pass inline_calls_pass() {
  return {"inline_calls", "replace every call by the callee's ops", inline_calls};
}

}  // namespace spmd
