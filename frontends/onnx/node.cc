#include "frontends/onnx/node.h"

#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/types.h"
#include "support/error.h"
#include "support/scanner.h"

namespace spmd::onnx {

const std::string& Node::op() const { return proto_.op_type(); }
Writer& Node::writer() { return importer_.writer(); }

std::string Node::place() const {
  const std::string inside =
      frame_.function.empty() ? "" : fmt::format(" in function {}", escape(frame_.function));
  const std::string domain(domain_of(proto_.domain()));
  const std::string type = domain.empty() ? proto_.op_type() : domain + ":" + proto_.op_type();
  std::string name = proto_.name();
  if (name.empty() && proto_.output_size() > 0) name = proto_.output(0);
  return fmt::format("{}: node \"{}\" ({}){}", importer_.source(), escape(name), escape(type),
                     inside);
}

void Node::fail(std::string_view fact, std::string_view remedy) {
  throw UserError(place(), fact, remedy);
}

void Node::unsupported(std::string_view what) {
  fail(fmt::format("{}, which is not supported", what), "export the model without it");
}

void Node::check_table(double entries) {
  constexpr double kMost = 1 << 24;
  if (entries > kMost) {
    fail(fmt::format("it needs a list of {:.3g} numbers when it is read, the most are {:.3g}",
                     entries, kMost),
         "export the model with smaller sizes");
  }
}

// ---- inputs

int Node::num_inputs() const { return proto_.input_size(); }

bool Node::has(int input) {
  return input < proto_.input_size() && !proto_.input(input).empty() &&
         value(input).kind != Value::Kind::kAbsent;
}

std::string Node::input_name(int input) const {
  if (input >= proto_.input_size()) return fmt::format("input {}", input);
  return fmt::format("input {} (\"{}\")", input, escape(proto_.input(input)));
}

Value Node::value(int input) {
  if (input >= proto_.input_size() || proto_.input(input).empty()) return {};
  const Value* value = scope_.find(proto_.input(input));
  if (value == nullptr) {
    fail(fmt::format("its {} is defined nowhere before it", input_name(input)),
         "the nodes of a graph must be sorted, and every input have a source: export it again");
  }
  return *value;
}

const std::vector<Value>& Node::sequence(int input) {
  kept_.push_back(value(input));
  if (kept_.back().kind != Value::Kind::kSequence) {
    fail(fmt::format("its {} is {}, expected a sequence", input_name(input),
                     name_of(kept_.back().kind)));
  }
  return kept_.back().elements;
}

Expr Node::in_or_none(int input) {
  Value found = value(input);
  // An optional that is there counts as its element (opset 18).
  if (found.kind == Value::Kind::kOptional && found.elements.size() == 1) {
    found = Value(found.elements[0]);
  }
  if (found.kind == Value::Kind::kAbsent) return {};
  if (found.kind != Value::Kind::kTensor) {
    fail(fmt::format("its {} is {}, expected a tensor", input_name(input), name_of(found.kind)));
  }
  return {writer(), found.tensor};
}

Expr Node::in(int input) {
  const Expr x = in_or_none(input);
  if (!x) fail(fmt::format("its {} is missing", input_name(input)));
  return x;
}

std::vector<Expr> Node::ins(int first) {
  std::vector<Expr> inputs;
  for (int i = first; i < num_inputs(); ++i) inputs.push_back(in(i));
  if (inputs.empty()) fail("it has no inputs");
  return inputs;
}

const Literal* Node::known_or_null(int input) {
  const Expr x = in_or_none(input);
  return x ? importer_.folding().known(x.id()) : nullptr;
}

const Literal& Node::known(int input) {
  const Expr x = in(input);
  if (const Literal* literal = importer_.folding().known(x.id())) return *literal;
  std::vector<std::string> inputs = importer_.inputs_of(x.id());
  std::string list;
  for (const std::string& name : inputs) list += (list.empty() ? "" : ", ") + name;
  const std::string remedy =
      inputs.empty() ? "export the model with static shapes"
                     : fmt::format("compile for one value of it: --set-input {}=VALUE", inputs[0]);
  throw UnknownValue(
      place(),
      fmt::format("its {} decides a shape or a structure and must be known when the program is "
                  "compiled{}",
                  input_name(input), list.empty() ? "" : ", but depends on the input " + list),
      remedy, std::move(inputs));
}

Dims Node::known_integers(int input) {
  const Literal& literal = known(input);
  if (!is_integer(literal.type().dtype) || literal.type().rank() > 1) {
    fail(fmt::format("its {} is {}, expected a list of integers", input_name(input),
                     to_string(literal.type())));
  }
  check_table(static_cast<double>(literal.type().num_elements()));
  Dims values;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) values.push_back(literal.as_int(i));
  return values;
}

int64_t Node::known_integer(int input) {
  const Dims values = known_integers(input);
  if (values.size() != 1) {
    fail(fmt::format("its {} has {} elements, expected 1", input_name(input), values.size()));
  }
  return values[0];
}

std::vector<double> Node::known_numbers(int input) {
  const Literal& literal = known(input);
  check_table(static_cast<double>(literal.type().num_elements()));
  std::vector<double> values;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
    values.push_back(literal.as_double(i));
  }
  return values;
}

bool Node::known_boolean(int input) {
  const Literal& literal = known(input);
  if (literal.type().num_elements() != 1) {
    fail(fmt::format("its {} is {}, expected one boolean", input_name(input),
                     to_string(literal.type())));
  }
  return literal.as_int(0) != 0;
}

// ---- attributes

const AttributeProto* Node::find_attribute(std::string_view name) {
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    const auto found = frame_.attributes.find(attribute.ref_attr_name());
    return found == frame_.attributes.end() ? nullptr : found->second;
  }
  return nullptr;
}

bool Node::has_attribute(std::string_view name) { return find_attribute(name) != nullptr; }

int64_t Node::integer(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr || !attribute->has_i()) {
    fail(fmt::format("its attribute {} is missing, expected an integer", name));
  }
  return attribute->i();
}

int64_t Node::integer(std::string_view name, int64_t otherwise) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) return otherwise;
  if (attribute->has_f() || attribute->has_s()) {
    fail(fmt::format("its attribute {} is no integer", name));
  }
  return attribute->i();  // proto3 writers leave zeros out
}

double Node::number(std::string_view name, double otherwise) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) return otherwise;
  if (attribute->has_s()) fail(fmt::format("its attribute {} is no number", name));
  return attribute->has_i() ? static_cast<double>(attribute->i()) : attribute->f();
}

std::string Node::text(std::string_view name, std::string_view otherwise) {
  const AttributeProto* attribute = find_attribute(name);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::optional<Dims> Node::integers(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->has_i()) return Dims{attribute->i()};
  return Dims(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<double>> Node::numbers(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->has_f()) return std::vector<double>{attribute->f()};
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> Node::texts(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::optional<Literal> Node::tensor(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr || !attribute->has_t()) return std::nullopt;
  return importer_.tensors().read(attribute->t(), fmt::format("{}: attribute {}", place(), name));
}

const GraphProto& Node::graph(std::string_view name) {
  const AttributeProto* attribute = find_attribute(name);
  if (attribute == nullptr || !attribute->has_g()) {
    fail(fmt::format("its attribute {} is missing, expected a graph", name));
  }
  return attribute->g();
}

DType Node::dtype(std::string_view name) {
  const auto number = static_cast<int>(integer(name));
  const std::optional<DType> dtype = dtype_of(number);
  if (!dtype) unsupported(fmt::format("its attribute {} is {}", name, data_type_name(number)));
  return *dtype;
}

int64_t Node::axis(int64_t axis, int64_t rank, bool end) {
  const int64_t limit = end ? rank + 1 : rank;
  const int64_t wrapped = axis < 0 ? axis + rank : axis;
  if (wrapped < 0 || wrapped >= limit) {
    fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
  }
  return wrapped;
}

Dims Node::axes(const Dims& axes, int64_t rank) {
  Dims wrapped;
  for (int64_t a : axes) {
    const int64_t dim = axis(a, rank);
    if (std::find(wrapped.begin(), wrapped.end(), dim) != wrapped.end()) {
      fail(fmt::format("axis {} occurs twice", a));
    }
    wrapped.push_back(dim);
  }
  return wrapped;
}

int64_t Node::at_least(int64_t least, int64_t value, std::string_view what) {
  if (value < least) fail(fmt::format("{} is {}, expected at least {}", what, value, least));
  return value;
}

// ---- outputs

int Node::num_outputs() const { return proto_.output_size(); }

bool Node::wants(int output) const {
  return output < proto_.output_size() && !proto_.output(output).empty();
}

void Node::set(int output, Value value) {
  if (!wants(output)) return;
  if (!scope_.define(proto_.output(output), std::move(value))) {
    fail(fmt::format("its output \"{}\" is defined twice", proto_.output(output)));
  }
}

}  // namespace spmd::onnx
