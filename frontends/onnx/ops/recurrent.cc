// RNN, GRU and LSTM: a loop over time for each direction.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/activations.h"
#include "frontends/onnx/ops/common.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

// What the three ops have in common; the input is [time, batch, features].
struct Recurrence {
  Node& node;
  Expr x, weights, recurrent, bias, lengths;
  int64_t hidden = 0, directions = 1, gates = 1;
  bool backward_first = false, batch_first = false;
  double clip = 0;
  std::vector<Activation> activations;  // per direction, one after another

  int64_t time() const { return x.dim(0); }
  int64_t batch() const { return x.dim(1); }
};

std::vector<Activation> activations_of(Node& node, int64_t directions,
                                       const std::vector<std::string>& defaults) {
  std::vector<std::string> names = node.texts("activations");
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  node.require(names.size() == defaults.size() * static_cast<size_t>(directions),
               "its attribute activations has a wrong length");
  const auto alphas = node.numbers("activation_alpha"), betas = node.numbers("activation_beta");
  std::vector<Activation> activations;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = [&](const auto& values) {
      return values && i < values->size() ? std::optional((*values)[i]) : std::nullopt;
    };
    activations.push_back(activation_named(node, names[i], at(alphas), at(betas)));
  }
  return activations;
}

Recurrence recurrence_of(Node& node, int64_t gates, const std::vector<std::string>& activations) {
  Recurrence r{.node = node,
               .x = node.in(0),
               .weights = node.in(1),
               .recurrent = node.in(2),
               .bias = node.in_or_none(3),
               .lengths = node.in_or_none(4)};
  const std::string direction = node.text("direction", "forward");
  node.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
               "its attribute direction is unknown");
  node.require(r.x.rank() == 3 && r.weights.rank() == 3 && r.recurrent.rank() == 3,
               "its input or weights have not three dimensions");
  r.gates = gates;
  r.directions = direction == "bidirectional" ? 2 : 1;
  r.backward_first = direction == "reverse";
  r.hidden = r.recurrent.dim(2);
  r.batch_first = node.flag("layout", false);
  if (r.batch_first) r.x = transpose(r.x, {1, 0, 2});
  r.clip = node.number("clip", 0);
  r.activations = activations_of(node, r.directions, activations);
  const int64_t rows = gates * r.hidden;
  node.require(r.weights.shape() == Dims({r.directions, rows, r.x.dim(2)}) &&
                   r.recurrent.shape() == Dims({r.directions, rows, r.hidden}) &&
                   (!r.bias || r.bias.shape() == Dims({r.directions, 2 * rows})),
               "its weights do not fit its input");
  return r;
}

Expr of_direction(const Expr& x, int64_t direction) {
  return squeeze(slice_dim(x, 0, direction, direction + 1), 0);
}

// One gate's rows of a matrix [gates * hidden, ...] or vector.
Expr gate_rows(const Expr& x, int64_t gate, int64_t hidden) {
  return slice_dim(x, 0, gate * hidden, (gate + 1) * hidden);
}

// x [..., features] times the transpose of a matrix [rows, features].
Expr times(const Expr& x, const Expr& matrix) {
  DotAttrs attrs;
  attrs.lhs_contracting = {x.rank() - 1};
  attrs.rhs_contracting = {1};
  return dot(x, matrix, std::move(attrs));
}

Expr clipped(const Recurrence& r, const Expr& x) {
  return r.clip > 0 ? clamp(-r.clip, x, r.clip) : x;
}

// Initial state `input` of a direction, or zeros: [batch, hidden].
Expr initial_state(Recurrence& r, int input, int64_t direction) {
  const TensorType type{r.x.dtype(), {r.batch(), r.hidden}};
  const Expr given = r.node.in_or_none(input);
  if (!given) return splat(r.node.writer(), type, 0);
  const Expr ordered = r.batch_first && given.rank() == 3 ? transpose(given, {1, 0, 2}) : given;
  const Expr state = of_direction(ordered, direction);
  r.node.require(state.type() == type, "its initial state does not fit its input");
  return state;
}

// One direction's weights and what the input gives to the gates at all times.
struct Direction {
  int64_t number = 0;
  bool backward = false;
  Expr recurrent;                   // [gates * hidden, hidden]
  Expr input_bias, recurrent_bias;  // [gates * hidden], or none
  Expr inputs;                      // [time, batch, gates * hidden], the biases of the input added
  Activation f(const Recurrence& r, size_t i) const {
    const size_t each = r.activations.size() / static_cast<size_t>(r.directions);
    return r.activations[static_cast<size_t>(number) * each + i];
  }
};

Direction direction_of(Recurrence& r, int64_t number) {
  Direction d;
  d.number = number;
  d.backward = r.backward_first || number == 1;
  d.recurrent = of_direction(r.recurrent, number);
  d.inputs = times(r.x, of_direction(r.weights, number));
  if (r.bias) {
    const Expr bias = of_direction(r.bias, number);
    const int64_t rows = r.gates * r.hidden;
    d.input_bias = slice_dim(bias, 0, 0, rows);
    d.recurrent_bias = slice_dim(bias, 0, rows, 2 * rows);
    d.inputs = d.inputs + d.input_bias;
  }
  return d;
}

// The state after a step, from the gates' inputs [batch, gates * hidden] and the state before; the
// first part of the state is the output.
using Step = std::function<std::vector<Expr>(const Expr& gates, const std::vector<Expr>& state)>;

// Runs a direction over time. Returns the outputs [time, batch, hidden], then the last state.
std::vector<Expr> run_over_time(Recurrence& r, const Direction& d, const std::vector<Expr>& state,
                                const Step& step) {
  Writer& writer = r.node.writer();
  const int64_t time = r.time();
  const Expr lengths = r.lengths ? convert(r.lengths, DType::kS32) : Expr();
  std::vector<Expr> carried = {splat(writer, {r.x.dtype(), {time, r.batch(), r.hidden}}, 0)};
  carried.insert(carried.end(), state.begin(), state.end());
  const auto body = [&](const Expr& trip, const std::vector<Expr>& now) {
    const Expr at = d.backward ? static_cast<double>(time - 1) - trip : trip;
    const std::vector<Expr> before(now.begin() + 1, now.end());
    const Expr gates = squeeze(dynamic_slice_dim(d.inputs, at, 1, 0), 0);
    std::vector<Expr> after = step(gates, before);
    Expr output = after[0];
    if (lengths) {  // beyond a sequence's end the state stays, and the output is zero
      const Expr inside =
          broadcast_in(greater(lengths, broadcast_to(at, {r.batch()})), {r.batch(), r.hidden}, {0});
      output = select(inside, output, 0.0);
      for (size_t i = 0; i < after.size(); ++i) after[i] = select(inside, after[i], before[i]);
    }
    after.insert(after.begin(), dynamic_update_dim(now[0], unsqueeze(output, 0), at, 0));
    return after;
  };
  return counted_loop(writer, time, carried, body);
}

// Outputs of all directions: Y [time, directions, batch, hidden], then the last states.
void set_outputs(Recurrence& r, const std::vector<std::vector<Expr>>& results) {
  std::vector<Expr> outputs;
  for (const auto& result : results) outputs.push_back(unsqueeze(result[0], 1));
  const Expr y = concatenate(outputs, 1);
  r.node.set(0, r.batch_first ? transpose(y, {2, 0, 1, 3}) : y);
  for (size_t s = 1; s < results[0].size(); ++s) {
    std::vector<Expr> states;
    for (const auto& result : results) states.push_back(unsqueeze(result[s], 0));
    const Expr state = concatenate(states, 0);
    r.node.set(static_cast<int>(s), r.batch_first ? transpose(state, {1, 0, 2}) : state);
  }
}

void rnn(Node& node) {
  Recurrence r = recurrence_of(node, 1, {"Tanh"});
  std::vector<std::vector<Expr>> results;
  for (int64_t i = 0; i < r.directions; ++i) {
    Direction d = direction_of(r, i);
    if (d.recurrent_bias) d.inputs = d.inputs + d.recurrent_bias;
    const Step step = [&](const Expr& gates, const std::vector<Expr>& state) {
      return std::vector<Expr>{d.f(r, 0)(clipped(r, gates + times(state[0], d.recurrent)))};
    };
    results.push_back(run_over_time(r, d, {initial_state(r, 5, i)}, step));
  }
  set_outputs(r, results);
}

// Columns of one gate: [batch, hidden].
Expr gate_columns(const Expr& x, int64_t gate, int64_t hidden) {
  return slice_dim(x, x.rank() - 1, gate * hidden, (gate + 1) * hidden);
}

// Gates: update, reset, hidden.
void gru(Node& node) {
  Recurrence r = recurrence_of(node, 3, {"Sigmoid", "Tanh"});
  const int64_t h = r.hidden;
  const bool linear_before_reset = node.flag("linear_before_reset", false);
  std::vector<std::vector<Expr>> results;
  for (int64_t i = 0; i < r.directions; ++i) {
    const Direction d = direction_of(r, i);
    const Step step = [&](const Expr& gates, const std::vector<Expr>& state) {
      const auto recurrent = [&](const Expr& x, int64_t gate) {
        const Expr product = times(x, gate_rows(d.recurrent, gate, h));
        return d.recurrent_bias ? product + gate_rows(d.recurrent_bias, gate, h) : product;
      };
      const auto gate = [&](int64_t number) {
        return d.f(r, 0)(clipped(r, gate_columns(gates, number, h) + recurrent(state[0], number)));
      };
      const Expr update = gate(0), reset = gate(1);
      const Expr inner =
          linear_before_reset ? reset * recurrent(state[0], 2) : recurrent(reset * state[0], 2);
      const Expr proposed = d.f(r, 1)(clipped(r, gate_columns(gates, 2, h) + inner));
      return std::vector<Expr>{(1.0 - update) * proposed + update * state[0]};
    };
    results.push_back(run_over_time(r, d, {initial_state(r, 5, i)}, step));
  }
  set_outputs(r, results);
}

// Gates: input, output, forget, cell.
void lstm(Node& node) {
  Recurrence r = recurrence_of(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  const int64_t h = r.hidden;
  const bool coupled = node.flag("input_forget", false);
  const Expr peepholes = node.in_or_none(7);
  std::vector<std::vector<Expr>> results;
  for (int64_t i = 0; i < r.directions; ++i) {
    Direction d = direction_of(r, i);
    if (d.recurrent_bias) d.inputs = d.inputs + d.recurrent_bias;
    const Expr peephole = peepholes ? of_direction(peepholes, i) : Expr();
    node.require(!peephole || peephole.shape() == Dims{3 * h}, "its peepholes do not fit");
    const Step step = [&](const Expr& inputs, const std::vector<Expr>& state) {
      const Expr gates = inputs + times(state[0], d.recurrent);
      const auto gate = [&](int64_t number, const Expr& cell, int64_t peep) {
        Expr x = gate_columns(gates, number, h);
        if (peephole) x = x + cell * gate_rows(peephole, peep, h);
        return d.f(r, 0)(clipped(r, x));
      };
      const Expr input = gate(0, state[1], 0);
      const Expr forget = coupled ? 1.0 - input : gate(2, state[1], 2);
      const Expr proposed = d.f(r, 1)(clipped(r, gate_columns(gates, 3, h)));
      const Expr cell = forget * state[1] + input * proposed;
      const Expr output = gate(1, cell, 1);
      return std::vector<Expr>{output * d.f(r, 2)(cell), cell};
    };
    results.push_back(run_over_time(r, d, {initial_state(r, 5, i), initial_state(r, 6, i)}, step));
  }
  set_outputs(r, results);
}

}  // namespace

std::span<const OpHandler> recurrent_ops() {
  static constexpr OpHandler kOps[] = {
      {"GRU", gru, Accepts::kFloats},
      {"LSTM", lstm, Accepts::kFloats},
      {"RNN", rnn, Accepts::kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
