// The inputs of the main graph: their types, and the dimensions that the user gives sizes.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/types.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd::onnx {
namespace {

// The type of a fixed input, converted as the user's text does not say it.
Literal converted(Writer& writer, Folding& folding, const Literal& literal, DType dtype) {
  if (literal.type().dtype == dtype) return literal;
  const Expr x = convert(constant(writer, literal), dtype);
  return *folding.known(x.id());
}

// By which names the dimensions of an input, or of the elements it is made of, can be given sizes.
void add_dim_names(const std::string& input, const TypeProto& type,
                   std::vector<std::string>& names) {
  if (type.has_sequence_type()) {
    return add_dim_names(input, type.sequence_type().elem_type(), names);
  }
  if (type.has_optional_type()) {
    return add_dim_names(input, type.optional_type().elem_type(), names);
  }
  for (int d = 0; d < type.tensor_type().shape().dim_size(); ++d) {
    names.push_back(fmt::format("{}[{}]", input, d));
    names.push_back(type.tensor_type().shape().dim(d).dim_param());
  }
}

}  // namespace

void Importer::add_inputs(Scope& scope) {
  bind_given_shapes();
  std::vector<std::string> initialized;
  for (const TensorProto& tensor : model_.graph().initializer()) {
    initialized.push_back(tensor.name());
  }
  std::sort(initialized.begin(), initialized.end());
  for (const ValueInfoProto& input : model_.graph().input()) {
    // Until IR version 4, initializers were inputs too.
    if (std::binary_search(initialized.begin(), initialized.end(), input.name())) continue;
    if (!scope.define(input.name(), add_input(input.name(), input.type()))) {
      throw UserError(fmt::format("{}: input \"{}\"", source_, input.name()), "is there twice",
                      "the file is damaged: export it again");
    }
  }
  fail_on_open_dims();
  check_options_used();
}

// A shape given for an input gives its symbolic dimensions their sizes.
void Importer::bind_given_shapes() {
  for (const ValueInfoProto& input : model_.graph().input()) {
    const auto given = options_.shapes.find(input.name());
    if (given == options_.shapes.end() || !input.type().tensor_type().has_shape()) continue;
    const TensorShapeProto& shape = input.type().tensor_type().shape();
    if (static_cast<size_t>(shape.dim_size()) != given->second.size()) {
      throw UserError(fmt::format("{}: input \"{}\"", source_, input.name()),
                      fmt::format("has {} dimensions, the shape given for it {}", shape.dim_size(),
                                  given->second.size()));
    }
    for (int d = 0; d < shape.dim_size(); ++d) {
      const std::string& name = shape.dim(d).dim_param();
      if (!name.empty()) dims_.emplace(name, given->second[static_cast<size_t>(d)]);
    }
  }
}

Value Importer::add_input(const std::string& name, const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType:
      return add_tensor_input(name, type.tensor_type());
    case TypeProto::kSequenceType: {
      std::vector<Value> elements;
      const int64_t length = dim_size(name + "[]").value_or(0);
      for (int64_t i = 0; i < std::clamp<int64_t>(length, 0, 1 << 16); ++i) {
        elements.push_back(
            add_input(fmt::format("{}[{}]", name, i), type.sequence_type().elem_type()));
      }
      return Value::sequence(std::move(elements));
    }
    case TypeProto::kOptionalType: {
      if (dim_size(name + "?").value_or(0) == 0) return Value::optional({});
      return Value::optional({add_input(name, type.optional_type().elem_type())});
    }
    default:
      throw UserError(fmt::format("{}: input \"{}\"", source_, name),
                      "is neither a tensor nor a sequence of tensors, which is not supported",
                      "export the model with tensors as inputs");
  }
}

Value Importer::add_tensor_input(const std::string& name, const TypeProto::Tensor& type) {
  const bool fixed = options_.inputs.contains(name) || options_.strings.contains(name);
  if (fixed) return fixed_input(name, type);
  const std::string place = fmt::format("{}: input \"{}\"", source_, name);
  const std::optional<DType> dtype = dtype_of(type.elem_type());
  if (!dtype && type.elem_type() == TensorProto::STRING) {
    throw UnknownValue(place, "is a tensor of strings, which must be known when compiling",
                       "export the model with numbers as inputs", {name});
  }
  if (!dtype) {
    throw UserError(place,
                    fmt::format("has element type {}, which is not supported",
                                data_type_name(type.elem_type())),
                    "export the model with another one");
  }
  const TensorType tensor{*dtype, input_shape(name, type)};
  if (!is_valid(tensor)) throw UserError(place, "is too large", "give its dimensions other sizes");
  const ValueId argument = fn_.add_block_argument(fn_.body(), tensor);
  fn_.argument_info.push_back({.name = name});
  return Value::of(argument);
}

Value Importer::fixed_input(const std::string& name, const TypeProto::Tensor& type) {
  const auto strings = options_.strings.find(name);
  if (strings != options_.strings.end()) return Value::of(strings->second);
  const std::optional<DType> dtype = dtype_of(type.elem_type());
  const Literal& given = options_.inputs.find(name)->second;
  const bool has_shape = type.has_shape();
  const std::string place = fmt::format("{}: input \"{}\"", source_, name);
  if (!dtype || (has_shape && type.shape().dim_size() != given.type().rank())) {
    throw UserError(
        place,
        fmt::format("cannot be set to {}: it is a tensor of type {}{}", to_string(given.type()),
                    data_type_name(type.elem_type()),
                    has_shape ? fmt::format(" and rank {}", type.shape().dim_size()) : ""),
        "give it a value that fits");
  }
  return Value::of(constant(writer_, converted(writer_, folding_, given, *dtype)).id());
}

Dims Importer::input_shape(const std::string& name, const TypeProto::Tensor& type) {
  const std::string place = fmt::format("{}: input \"{}\"", source_, name);
  const auto given = options_.shapes.find(name);
  if (!type.has_shape()) {
    if (given != options_.shapes.end()) return given->second;
    throw UserError(place, "has no shape in the model",
                    fmt::format("give it one: --set-dim '{}=[SIZE,SIZE]'", name));
  }
  Dims shape;
  for (int d = 0; d < type.shape().dim_size(); ++d) {
    const TensorShapeProto::Dimension& dim = type.shape().dim(d);
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      shape.push_back(dim.dim_value());
    } else if (given != options_.shapes.end()) {
      shape.push_back(given->second[static_cast<size_t>(d)]);
    } else {
      const std::string dim_name =
          dim.dim_param().empty() ? fmt::format("{}[{}]", name, d) : dim.dim_param();
      shape.push_back(dim_size(dim_name).value_or(1));
    }
  }
  if (given != options_.shapes.end() && shape != given->second) {
    throw UserError(place, "has another shape in the model than the one given for it",
                    "give it a shape that fits");
  }
  return shape;
}

std::optional<int64_t> Importer::dim_size(const std::string& name) {
  const auto found = dims_.find(name);
  if (found != dims_.end()) return found->second;
  if (std::find(open_dims_.begin(), open_dims_.end(), name) == open_dims_.end()) {
    open_dims_.push_back(name);
  }
  return std::nullopt;
}

void Importer::fail_on_open_dims() {
  if (open_dims_.empty()) return;
  std::string list, flags;
  for (const std::string& name : open_dims_) {
    list += (list.empty() ? "" : ", ") + name;
    flags += fmt::format(" --set-dim '{}=SIZE'", name);
  }
  throw UserError(source_,
                  fmt::format("{} dimension{} no size: {}", open_dims_.size(),
                              open_dims_.size() == 1 ? " has" : "s have", list),
                  fmt::format("give every one a size:{}", flags));
}

// A misspelt name would otherwise have no effect.
void Importer::check_options_used() const {
  std::vector<std::string> names, inputs;
  for (const ValueInfoProto& input : model_.graph().input()) {
    inputs.push_back(input.name());
    add_dim_names(input.name(), input.type(), names);
    names.push_back(input.name() + "[]");
    names.push_back(input.name() + "?");
  }
  const auto check = [&](const std::string& name, const std::vector<std::string>& known,
                         const char* what) {
    const auto is_element = [&](const std::string& input) {
      return name.starts_with(input + "[");  // of a sequence
    };
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    if (std::any_of(inputs.begin(), inputs.end(), is_element)) return;
    const auto near = nearest(name, known);
    throw UserError(source_, fmt::format("has no {} {}", what, name),
                    near ? fmt::format("did you mean {}?", *near) : "");
  };
  for (const auto& [name, size] : options_.dims) check(name, names, "dimension");
  for (const auto& [name, shape] : options_.shapes) check(name, inputs, "input");
  for (const auto& [name, value] : options_.inputs) check(name, inputs, "input");
  for (const auto& [name, value] : options_.strings) check(name, inputs, "input");
}

}  // namespace spmd::onnx
