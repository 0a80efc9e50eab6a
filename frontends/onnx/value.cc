#include "frontends/onnx/value.h"

namespace spmd::onnx {

std::string_view name_of(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kAbsent:
      return "nothing";
    case Value::Kind::kTensor:
      return "a tensor";
    case Value::Kind::kSequence:
      return "a sequence";
    case Value::Kind::kOptional:
      return "an optional";
    case Value::Kind::kStrings:
      return "a tensor of strings";
  }
  SPMD_UNREACHABLE("kind of value");
}

void append_tensors(const Value& value, const std::string& place, std::vector<ValueId>& tensors) {
  if (value.kind == Value::Kind::kStrings) {
    throw UserError(place, "strings cannot be computed with when the program runs",
                    "use numbers in their place");
  }
  if (value.kind == Value::Kind::kTensor) tensors.push_back(value.tensor);
  for (const Value& element : value.elements) append_tensors(element, place, tensors);
}

Value with_tensors(const Value& value, const std::vector<ValueId>& tensors, size_t& next) {
  Value result = value;
  if (value.kind == Value::Kind::kTensor) result.tensor = tensors[next++];
  for (Value& element : result.elements) element = with_tensors(element, tensors, next);
  return result;
}

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

bool Scope::define(const std::string& name, Value value) {
  return values_.emplace(name, std::move(value)).second;
}

}  // namespace spmd::onnx
