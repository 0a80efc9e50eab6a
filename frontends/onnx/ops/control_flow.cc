// If, Loop and Scan.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
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

// A while op whose carried values may be added while its body is written.
class WhileOp {
 public:
  WhileOp(Writer& writer, const std::vector<Expr>& initial) : writer_(writer) {
    std::vector<ValueId> operands;
    for (const Expr& value : initial) operands.push_back(value.id());
    op_ = writer.builder().create(OpCode::kWhile, operands);
    condition_ = fn().add_region(op_);
    body_ = fn().add_region(op_);
    for (BlockId region : {condition_, body_}) {
      for (ValueId value : operands) fn().add_block_argument(region, fn().type(value));
    }
  }

  void open_body() { writer_.push(body_); }
  Expr argument(size_t i) { return {writer_, fn().block(body_).args[i]}; }
  // A further carried value: a zero tensor at first. Returns it as the body sees it.
  Expr add_zeros(const TensorType& type) {
    Builder before = Builder::before(fn(), op_);
    std::vector<ValueId> operands = fn().op(op_).operands;
    operands.push_back(before.splat(type, 0));
    fn().set_operands(op_, std::move(operands));
    fn().add_result(op_, type);
    fn().add_block_argument(condition_, type);
    return {writer_, fn().add_block_argument(body_, type)};
  }
  void close_body(const std::vector<Expr>& next) {
    std::vector<ValueId> results;
    for (const Expr& value : next) results.push_back(value.id());
    writer_.builder().return_op(std::move(results));
    writer_.pop();
  }
  // `test` gets the carried values.
  void write_condition(const std::function<Expr(const std::vector<Expr>&)>& test) {
    writer_.push(condition_);
    std::vector<Expr> arguments;
    for (ValueId value : fn().block(condition_).args) arguments.emplace_back(writer_, value);
    writer_.builder().return_op({test(arguments).id()});
    writer_.pop();
  }
  Expr result(size_t i) { return {writer_, fn().op(op_).results[i]}; }
  OpId id() const { return op_; }

 private:
  Function& fn() { return writer_.function(); }

  Writer& writer_;
  OpId op_;
  BlockId condition_, body_;
};

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

Expr tensor_of(Node& node, const Value& value) {
  if (value.kind != Value::Kind::kTensor) {
    node.unsupported(fmt::format("a loop that carries {}", name_of(value.kind)));
  }
  return {node.writer(), value.tensor};
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

// ---- Scan

struct ScanShape {
  size_t states = 0, inputs = 0;
  Dims input_axes, output_axes;
  std::vector<bool> input_backward, output_backward;
};

std::vector<bool> flags(Node& node, std::string_view name, size_t count) {
  const Dims values = node.integers(name).value_or(Dims(count, 0));
  node.require(values.size() >= count, "its directions are too few");
  return {values.begin(), values.begin() + static_cast<ptrdiff_t>(count)};
}

// The scan of values without a batch dimension.
std::vector<Expr> scan(Node& node, const std::vector<Expr>& values, const ScanShape& shape) {
  Writer& writer = node.writer();
  int64_t trips = -1;
  std::vector<Expr> inputs;  // the scanned dimension first
  for (size_t i = 0; i < shape.inputs; ++i) {
    const Expr& x = values[shape.states + i];
    const int64_t dim = node.axis(i < shape.input_axes.size() ? shape.input_axes[i] : 0, x.rank());
    inputs.push_back(move_dim(x, dim, 0));
    node.require(trips < 0 || trips == inputs.back().dim(0), "its inputs differ in length");
    trips = inputs.back().dim(0);
  }
  std::vector<Expr> initial = {splat(writer, {DType::kS64, {}}, 0)};
  initial.insert(initial.end(), values.begin(),
                 values.begin() + static_cast<ptrdiff_t>(shape.states));
  WhileOp loop(writer, initial);
  loop.open_body();
  const Expr trip = loop.argument(0);
  std::vector<Value> body_inputs;
  for (size_t i = 0; i < shape.states; ++i)
    body_inputs.push_back(Value::of(loop.argument(i + 1).id()));
  for (size_t i = 0; i < shape.inputs; ++i) {
    const Expr at = shape.input_backward[i] ? static_cast<double>(trips - 1) - trip : trip;
    body_inputs.push_back(Value::of(squeeze(dynamic_slice_dim(inputs[i], at, 1, 0), 0).id()));
  }
  const std::vector<Value> outputs =
      node.importer().emit_graph(node.graph("body"), node.scope(), node.frame(), body_inputs);
  node.require(outputs.size() >= shape.states, "its body has too few outputs");
  std::vector<Expr> next = {trip + 1.0};
  for (size_t i = 0; i < shape.states; ++i) {
    next.push_back(tensor_of(node, outputs[i]));
    node.require(next.back().type() == initial[i + 1].type(), "a state changes its shape");
  }
  const size_t collected = outputs.size() - shape.states;
  const std::vector<bool> backward = node.opset() < 9
                                         ? std::vector<bool>(collected, false)
                                         : flags(node, "scan_output_directions", collected);
  for (size_t i = 0; i < collected; ++i) {
    const Expr output = tensor_of(node, outputs[shape.states + i]);
    TensorType type = output.type();
    type.shape.insert(type.shape.begin(), trips);
    const Expr all = loop.add_zeros(type);
    const Expr at = backward[i] ? static_cast<double>(trips - 1) - trip : trip;
    next.push_back(dynamic_update_dim(all, unsqueeze(output, 0), at, 0));
  }
  loop.close_body(next);
  loop.write_condition([&](const std::vector<Expr>& carried) {
    return less(carried[0], static_cast<double>(trips));
  });
  std::vector<Expr> results;
  for (size_t i = 1; i < next.size(); ++i) {
    Expr result = loop.result(i);
    if (i > shape.states) {
      const size_t output = i - 1 - shape.states;
      const int64_t axis = output < shape.output_axes.size() ? shape.output_axes[output] : 0;
      result = move_dim(result, 0, node.axis(axis, result.rank()));
    }
    results.push_back(result);
  }
  return results;
}

// Before opset 9, everything had a batch dimension, and an input with lengths came first.
void scan_of_batches(Node& node, ScanShape shape) {
  if (node.has(0)) node.unsupported("sequences of different lengths in a Scan of opset 8");
  const std::vector<Expr> values = node.ins(1);
  shape.states = values.size() - shape.inputs;
  shape.input_backward = flags(node, "directions", shape.inputs);
  node.require(values[0].rank() > 0, "its inputs have no batch dimension");
  if (values[0].dim(0) > kMaxUnrolled) node.unsupported("a Scan of opset 8 with a large batch");
  std::vector<std::vector<Expr>> results;
  for (int64_t b = 0; b < values[0].dim(0); ++b) {
    std::vector<Expr> entry;
    for (const Expr& value : values) {
      node.require(value.rank() > 0 && value.dim(0) == values[0].dim(0), "its batch sizes differ");
      entry.push_back(squeeze(slice_dim(value, 0, b, b + 1), 0));
    }
    const std::vector<Expr> outputs = scan(node, entry, shape);
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(unsqueeze(outputs[i], 0));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    node.set(static_cast<int>(i), concatenate(results[i], 0));
  }
}

void scan_op(Node& node) {
  ScanShape shape;
  shape.inputs =
      static_cast<size_t>(node.at_least(1, node.integer("num_scan_inputs"), "num_scan_inputs"));
  const size_t first = node.opset() < 9 ? 1 : 0;
  node.require(static_cast<size_t>(node.num_inputs()) >= shape.inputs + first,
               "it has too few inputs");
  if (node.opset() < 9) return scan_of_batches(node, shape);
  const std::vector<Expr> values = node.ins();
  shape.states = values.size() - shape.inputs;
  shape.input_axes = node.integers("scan_input_axes").value_or(Dims{});
  shape.output_axes = node.integers("scan_output_axes").value_or(Dims{});
  shape.input_backward = flags(node, "scan_input_directions", shape.inputs);
  const std::vector<Expr> results = scan(node, values, shape);
  for (size_t i = 0; i < results.size(); ++i) node.set(static_cast<int>(i), results[i]);
}

}  // namespace

std::span<const OpHandler> control_flow_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"If", if_op, kBooleans},
      {"Loop", loop_op, kAnything},
      {"Scan", scan_op, kAnything},
  };
  return kOps;
}

}  // namespace spmd::onnx
