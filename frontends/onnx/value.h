// What a name of a graph stands for while a model is read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontends/import_options.h"
#include "ir/module.h"

namespace spmd::onnx {

// A tensor is a value of the module. Sequences and optionals exist only while reading: how many
// elements they have is known then. Strings are constants.
struct Value {
  enum class Kind : uint8_t { kAbsent, kTensor, kSequence, kOptional, kStrings };

  Kind kind = Kind::kAbsent;
  ValueId tensor = ValueId::kNone;
  std::vector<Value> elements;  // of a sequence; of an optional: none or one
  std::shared_ptr<const StringTensor> strings;

  static Value of(ValueId tensor) { return {Kind::kTensor, tensor, {}, nullptr}; }
  static Value sequence(std::vector<Value> elements) {
    return {Kind::kSequence, ValueId::kNone, std::move(elements), nullptr};
  }
  static Value optional(std::vector<Value> element) {
    return {Kind::kOptional, ValueId::kNone, std::move(element), nullptr};
  }
  static Value of(StringTensor strings) {
    return {Kind::kStrings,
            ValueId::kNone,
            {},
            std::make_shared<const StringTensor>(std::move(strings))};
  }
};

std::string_view name_of(Value::Kind kind);  // "a tensor", "a sequence", ...

// The tensors that a value consists of, in order; throws UserError(place, ...) for strings.
void append_tensors(const Value& value, const std::string& place, std::vector<ValueId>& tensors);
// The same value made of other tensors, taken from `next` on.
Value with_tensors(const Value& value, const std::vector<ValueId>& tensors, size_t& next);

// Names of a graph; those of outer graphs are seen through it.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  // Null when the name is not known.
  const Value* find(const std::string& name) const;
  // False when this graph has the name already.
  bool define(const std::string& name, Value value);
  void redefine(const std::string& name, Value value) { values_[name] = std::move(value); }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, Value> values_;
};

}  // namespace spmd::onnx
