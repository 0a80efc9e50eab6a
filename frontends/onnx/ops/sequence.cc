// Sequences and optionals, which exist only while a model is read.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

void identity(Node& node) { node.set(0, node.value(0)); }

void sequence_empty(Node& node) { node.set(0, Value::sequence({})); }

void sequence_construct(Node& node) {
  std::vector<Value> elements;
  for (int i = 0; i < node.num_inputs(); ++i) elements.push_back(node.value(i));
  node.set(0, Value::sequence(std::move(elements)));
}

// A position given by input `input`: of an element, or where one may be inserted.
size_t position_of(Node& node, int input, size_t length, bool insert) {
  return static_cast<size_t>(
      node.axis(node.known_integer(input), static_cast<int64_t>(length) + (insert ? 1 : 0)));
}

void sequence_at(Node& node) {
  const std::vector<Value>& elements = node.sequence(0);
  node.set(0, Value(elements[position_of(node, 1, elements.size(), false)]));
}

void sequence_insert(Node& node) {
  std::vector<Value> elements = node.sequence(0);
  size_t at = elements.size();
  if (node.has(2)) {  // a negative position counts from the end, where it inserts before
    const int64_t given = node.known_integer(2);
    const int64_t length = static_cast<int64_t>(elements.size());
    const int64_t wrapped = given < 0 ? given + length : given;
    node.require(wrapped >= 0 && wrapped <= length, "its position is out of range");
    at = static_cast<size_t>(wrapped);
  }
  elements.insert(elements.begin() + static_cast<ptrdiff_t>(at), node.value(1));
  node.set(0, Value::sequence(std::move(elements)));
}

void sequence_erase(Node& node) {
  std::vector<Value> elements = node.sequence(0);
  node.require(!elements.empty(), "its sequence is empty");
  const size_t at =
      node.has(1) ? position_of(node, 1, elements.size(), false) : elements.size() - 1;
  elements.erase(elements.begin() + static_cast<ptrdiff_t>(at));
  node.set(0, Value::sequence(std::move(elements)));
}

void sequence_length(Node& node) {
  const auto length = static_cast<int64_t>(node.sequence(0).size());
  node.set(0, constant(node.writer(), Literal::splat({DType::kS64, {}}, &length)));
}

void split_to_sequence(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  const int64_t size = x.dim(dim);
  bool keep = node.flag("keepdims", true);
  node.check_table(static_cast<double>(size));
  Dims parts(static_cast<size_t>(size), 1);
  if (node.has(1)) {
    keep = true;
    const Literal& given = node.known(1);
    if (given.type().rank() == 0) {
      const int64_t each = node.at_least(1, node.known_integer(1), "the size of its parts");
      parts.clear();
      for (int64_t start = 0; start < size; start += each) {
        parts.push_back(std::min(each, size - start));
      }
    } else {
      parts = node.known_integers(1);
    }
  }
  std::vector<Value> elements;
  int64_t start = 0;
  for (int64_t part : parts) {
    node.require(part >= 0 && part <= size - start, "its parts do not fit the dimension");
    const Expr element = slice_dim(x, dim, start, start + part);
    elements.push_back(Value::of((keep ? element : squeeze(element, dim)).id()));
    start += part;
  }
  node.require(start == size, "its parts do not fill the dimension");
  node.set(0, Value::sequence(std::move(elements)));
}

void concat_from_sequence(Node& node) {
  std::vector<Expr> parts;
  for (const Value& element : node.sequence(0)) {
    node.require(element.kind == Value::Kind::kTensor, "its sequence holds no tensors");
    parts.emplace_back(node.writer(), element.tensor);
  }
  node.require(!parts.empty(), "its sequence is empty");
  const bool adds = node.flag("new_axis", false);
  const int64_t rank = parts[0].rank() + (adds ? 1 : 0);
  const int64_t dim = node.axis(node.integer("axis"), rank);
  for (Expr& part : parts) {
    node.require(part.rank() == parts[0].rank() || (adds && part.rank() + 1 == rank),
                 "its elements differ in rank");
    if (adds) part = unsqueeze(part, dim);
  }
  node.set(0, concatenate(parts, dim));
}

// Applies a graph to each element of the sequences among its inputs; tensors go to every one.
void sequence_map(Node& node) {
  const size_t length = node.sequence(0).size();
  std::vector<std::vector<Value>> results;
  for (size_t i = 0; i < length; ++i) {
    std::vector<Value> inputs;
    for (int k = 0; k < node.num_inputs(); ++k) {
      const Value value = node.value(k);
      const bool sequence = value.kind == Value::Kind::kSequence;
      node.require(!sequence || value.elements.size() == length, "its sequences differ in length");
      inputs.push_back(sequence ? value.elements[i] : value);
    }
    const std::vector<Value> outputs =
        node.importer().emit_graph(node.graph("body"), node.scope(), node.frame(), inputs);
    results.resize(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) results[k].push_back(outputs[k]);
  }
  results.resize(static_cast<size_t>(node.num_outputs()));
  for (size_t k = 0; k < results.size(); ++k) {
    node.set(static_cast<int>(k), Value::sequence(std::move(results[k])));
  }
}

// ---- optionals

void optional(Node& node) {
  node.set(0, node.has(0) ? Value::optional({node.value(0)}) : Value::optional({}));
}

void optional_has_element(Node& node) {
  const Value value = node.value(0);
  const bool there = value.kind == Value::Kind::kOptional ? !value.elements.empty()
                                                          : value.kind != Value::Kind::kAbsent;
  node.set(0, splat(node.writer(), {DType::kBool, {}}, there));
}

void optional_get_element(Node& node) {
  const Value value = node.value(0);
  if (value.kind != Value::Kind::kOptional) return node.set(0, value);
  node.require(!value.elements.empty(), "its optional is empty");
  node.set(0, Value(value.elements[0]));
}

}  // namespace

std::span<const OpHandler> sequence_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"ConcatFromSequence", concat_from_sequence, kAnything},
      {"Identity", identity, kAnything},
      {"Optional", optional, kAnything},
      {"OptionalGetElement", optional_get_element, kAnything},
      {"OptionalHasElement", optional_has_element, kAnything},
      {"SequenceAt", sequence_at, kAnything},
      {"SequenceConstruct", sequence_construct, kAnything},
      {"SequenceEmpty", sequence_empty, kAnything},
      {"SequenceErase", sequence_erase, kAnything},
      {"SequenceInsert", sequence_insert, kAnything},
      {"SequenceLength", sequence_length, kAnything},
      {"SequenceMap", sequence_map, kAnything},
      {"SplitToSequence", split_to_sequence},
  };
  return kOps;
}

}  // namespace spmd::onnx
