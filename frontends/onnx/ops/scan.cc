// Scan.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/while_op.h"

namespace spmd::onnx {

Expr tensor_of(Node& node, const Value& value) {
  if (value.kind != Value::Kind::kTensor) {
    node.unsupported(fmt::format("a loop that carries {}", name_of(value.kind)));
  }
  return {node.writer(), value.tensor};
}

namespace {

constexpr int64_t kMaxBatch = 10000;

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
  if (values[0].dim(0) > kMaxBatch) node.unsupported("a Scan of opset 8 with a large batch");
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

std::span<const OpHandler> scan_ops() {
  static constexpr OpHandler kOps[] = {
      {"Scan", scan_op, Accepts::kAnything},
  };
  return kOps;
}

}  // namespace spmd::onnx
