// If and Loop.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/while_op.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr int64_t kMaxUnrolled = 10000;

std::vector<TensorType> types_of(const Function& fn, const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  for (ValueId value : values) types.push_back(fn.type(value));
  return types;
}

// ---- If

void emit_branch(Node& node, OpId op, const char* name, std::vector<Value>& outputs,
                 std::vector<ValueId>& tensors) {
  Importer& importer = node.importer();
  importer.writer().push(importer.function().add_region(op));
  outputs = importer.emit_graph(node.graph(name), node.scope(), node.frame(), {});
  for (const Value& output : outputs) append_tensors(output, node.place(), tensors);
  importer.writer().builder().return_op(tensors);
  importer.writer().pop();
}

void if_op(Node& node) {
  const Expr condition = node.in(0);
  Importer& importer = node.importer();
  if (const Literal* known = node.known_or_null(0)) {
    const char* branch = known->as_int(0) != 0 ? "then_branch" : "else_branch";
    const std::vector<Value> outputs =
        importer.emit_graph(node.graph(branch), node.scope(), node.frame(), {});
    for (size_t i = 0; i < outputs.size(); ++i) node.set(static_cast<int>(i), outputs[i]);
    return;
  }
  node.require(condition.dtype() == DType::kBool && condition.num_elements() == 1,
               "its condition is not one boolean");
  Function& fn = importer.function();
  const OpId op = importer.writer().builder().create(OpCode::kIf, {reshape(condition, {}).id()},
                                                     std::vector<TensorType>{});
  std::vector<Value> then_outputs, else_outputs;
  std::vector<ValueId> then_tensors, else_tensors;
  emit_branch(node, op, "then_branch", then_outputs, then_tensors);
  emit_branch(node, op, "else_branch", else_outputs, else_tensors);
  const std::vector<TensorType> types = types_of(fn, then_tensors);
  if (types != types_of(fn, else_tensors)) {
    node.known(0);  // says that the condition decides a shape, and what it depends on
  }
  std::vector<ValueId> results;
  for (const TensorType& type : types) results.push_back(fn.add_result(op, type));
  size_t next = 0;
  for (size_t i = 0; i < then_outputs.size(); ++i) {
    node.set(static_cast<int>(i), with_tensors(then_outputs[i], results, next));
  }
}

// ---- loops

// What a Loop node says.
struct LoopInputs {
  std::optional<int64_t> trips;   // when known
  Expr trips_value;               // none: no limit
  std::optional<bool> condition;  // at the beginning, when known; true when left out
  Expr condition_value;
  std::vector<Value> carried;
};

LoopInputs loop_inputs(Node& node) {
  LoopInputs in;
  if (node.has(0)) {
    in.trips_value = reshape(convert(node.in(0), DType::kS64), {});
    if (node.known_or_null(0)) in.trips = std::max<int64_t>(node.known_integer(0), 0);
  }
  if (node.has(1)) {
    in.condition_value = reshape(node.in(1), {});
    node.require(in.condition_value.dtype() == DType::kBool, "its condition is no boolean");
    if (node.known_or_null(1)) in.condition = node.known_boolean(1);
  } else {
    in.condition_value = splat(node.writer(), {DType::kBool, {}}, 1);
    in.condition = true;
  }
  for (int i = 2; i < node.num_inputs(); ++i) in.carried.push_back(node.value(i));
  return in;
}

// As a while op: carried are the trip, the condition, the node's values, then what it collects.
std::vector<Value> loop_as_while(Node& node, const LoopInputs& in) {
  Writer& writer = node.writer();
  std::vector<Expr> initial = {splat(writer, {DType::kS64, {}}, 0), in.condition_value};
  for (const Value& value : in.carried) initial.push_back(tensor_of(node, value));
  WhileOp loop(writer, initial);
  loop.open_body();
  std::vector<Value> inputs;
  for (size_t i = 0; i < initial.size(); ++i) inputs.push_back(Value::of(loop.argument(i).id()));
  const std::vector<Value> outputs =
      node.importer().emit_graph(node.graph("body"), node.scope(), node.frame(), inputs);
  const size_t carried = in.carried.size();
  node.require(outputs.size() >= carried + 1, "its body has too few outputs");
  const Expr condition = reshape(tensor_of(node, outputs[0]), {});
  const Literal* known = node.importer().folding().known(condition.id());
  const bool always = in.condition == true && (condition.id() == loop.argument(1).id() ||
                                               (known != nullptr && known->as_int(0) != 0));
  std::vector<Expr> next = {loop.argument(0) + 1.0, condition};
  for (size_t i = 0; i < carried; ++i) {
    next.push_back(tensor_of(node, outputs[i + 1]));
    if (next.back().type() != initial[i + 2].type()) {
      node.unsupported("a loop in which the shape of a value changes");
    }
  }
  for (size_t i = carried + 1; i < outputs.size(); ++i) {
    if (!always || !in.trips) {
      node.unsupported("collecting outputs of a loop whose number of trips is not known");
    }
    const Expr output = tensor_of(node, outputs[i]);
    TensorType type = output.type();
    type.shape.insert(type.shape.begin(), *in.trips);
    if (!is_valid(type)) node.fail("what the loop collects is too large");
    const Expr collected = loop.add_zeros(type);
    next.push_back(dynamic_update_dim(collected, unsqueeze(output, 0), loop.argument(0), 0));
  }
  loop.close_body(next);
  node.require(in.trips_value || !always, "its loop never ends");
  loop.write_condition([&](const std::vector<Expr>& values) {
    if (!in.trips_value) return values[1];
    const Expr more = in.trips ? less(values[0], static_cast<double>(*in.trips))
                               : less(values[0], in.trips_value);
    return always ? more : more & values[1];
  });
  std::vector<Value> results;
  for (size_t i = 2; i < next.size(); ++i) results.push_back(Value::of(loop.result(i).id()));
  return results;
}

bool known_condition(Node& node, const Value& value, int64_t trip) {
  if (trip == 0 && node.has(1)) return node.known_boolean(1);
  const Expr condition = tensor_of(node, value);
  const Literal* literal = node.importer().folding().known(condition.id());
  if (literal == nullptr) {
    node.unsupported("a loop whose number of trips depends on data and decides a shape");
  }
  return literal->as_int(0) != 0;
}

// Its trips one after another.
std::vector<Value> unrolled_loop(Node& node, const LoopInputs& in) {
  Writer& writer = node.writer();
  const size_t carried = in.carried.size();
  std::vector<Value> state = in.carried;
  std::vector<std::vector<Expr>> collected;
  Value condition = Value::of(in.condition_value.id());
  const int64_t limit = in.trips.value_or(kMaxUnrolled);
  const auto run_body = [&](int64_t trip) {
    const Expr number = constant(writer, Literal::splat({DType::kS64, {}}, &trip));
    std::vector<Value> inputs = {Value::of(number.id()), condition};
    inputs.insert(inputs.end(), state.begin(), state.end());
    std::vector<Value> outputs =
        node.importer().emit_graph(node.graph("body"), node.scope(), node.frame(), inputs);
    node.require(outputs.size() >= carried + 1, "its body has too few outputs");
    collected.resize(outputs.size() - carried - 1);
    return outputs;
  };
  int64_t trip = 0;
  for (; trip < limit && known_condition(node, condition, trip); ++trip) {
    if (trip >= kMaxUnrolled) node.unsupported(fmt::format("more than {} trips", kMaxUnrolled));
    const std::vector<Value> outputs = run_body(trip);
    condition = outputs[0];
    for (size_t i = 0; i < carried; ++i) state[i] = outputs[i + 1];
    for (size_t i = 0; i < collected.size(); ++i) {
      collected[i].push_back(unsqueeze(tensor_of(node, outputs[carried + 1 + i]), 0));
    }
  }
  if (trip == 0 && node.num_outputs() > static_cast<int>(carried)) {
    // The body says what the elements of the empty results would be.
    const std::vector<Value> outputs = run_body(0);
    for (size_t i = 0; i < collected.size(); ++i) {
      const Expr one = unsqueeze(tensor_of(node, outputs[carried + 1 + i]), 0);
      collected[i].push_back(slice_dim(one, 0, 0, 0));
    }
  }
  for (const std::vector<Expr>& parts : collected) {
    if (!parts.empty()) state.push_back(Value::of(concatenate(parts, 0).id()));
  }
  return state;
}

void loop_op(Node& node) {
  const LoopInputs in = loop_inputs(node);
  const bool tensors = std::all_of(in.carried.begin(), in.carried.end(), [](const Value& value) {
    return value.kind == Value::Kind::kTensor;
  });
  std::vector<Value> results;
  std::optional<std::string> failure = "";
  if (tensors && in.trips != 0 && in.condition != false) {
    failure = node.importer().attempt([&] { results = loop_as_while(node, in); });
  }
  if (failure) {
    if (in.trips_value) node.known(0);  // says that it decides a shape, and what it depends on
    results = unrolled_loop(node, in);
  }
  for (size_t i = 0; i < results.size(); ++i) node.set(static_cast<int>(i), results[i]);
}

}  // namespace

std::span<const OpHandler> control_flow_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"If", if_op, kBooleans},
      {"Loop", loop_op, kAnything},
  };
  return kOps;
}

}  // namespace spmd::onnx
