// Attributes of MLIR's builtin dialect, locations apart.
#include "frontends/vhlo/attribute_decoder.h"
#include "support/error.h"

namespace spmd::vhlo {

using text::Attribute;
using Kind = Attribute::Kind;

namespace {

struct BuiltinCode {
  enum : uint64_t {
    kArray = 0,
    kDictionary = 1,
    kString = 2,
    kTypedString = 3,
    kFlatSymbol = 4,
    kSymbol = 5,
    kType = 6,
    kUnit = 7,
    kInteger = 8,
    kFloat = 9,
    kDenseResource = 16,
    kDenseArray = 17,
    kDenseElements = 18,
  };
};

}  // namespace

Attribute AttributeDecoder::decode_builtin() {
  const uint64_t code = cursor_.varint();
  switch (code) {
    case BuiltinCode::kArray:
      return array();
    case BuiltinCode::kDictionary:
      return dictionary();
    case BuiltinCode::kString:
      return string();
    case BuiltinCode::kTypedString: {
      Attribute attribute = string();
      cursor_.index(table_.container_.types.size(), "the number of a type");
      return attribute;
    }
    case BuiltinCode::kFlatSymbol:
    case BuiltinCode::kSymbol: {
      Attribute symbol = make(Kind::kSymbol);
      symbol.string = table_.string(child_index(), cursor_);
      if (code == BuiltinCode::kFlatSymbol) return symbol;
      for (size_t i = cursor_.count("the parts of a symbol"); i > 0; --i) {
        const Attribute part = child();
        symbol.string += "::" + part.string;
      }
      return symbol;
    }
    case BuiltinCode::kType:
      return type();
    case BuiltinCode::kUnit:
      return make(Kind::kUnit);
    case BuiltinCode::kInteger:
      return integer();
    case BuiltinCode::kFloat:
      return floating();
    case BuiltinCode::kDenseResource:
      return decode_resource();
    case BuiltinCode::kDenseArray:
      return decode_dense_array();
    case BuiltinCode::kDenseElements:
      return tensor();
    default:
      cursor_.fail(
          fmt::format("found an attribute of MLIR with code {}, which is not supported", code));
  }
}

// An element type, a length, the elements.
Attribute AttributeDecoder::decode_dense_array() {
  const uint32_t type = cursor_.index(table_.container_.types.size(), "the number of a type");
  const Type& element = table_.types_.at(type);
  const uint64_t size = cursor_.varint();
  const std::string_view bytes = cursor_.bytes(cursor_.varint());
  const auto dtype = dtype_named(element.name);
  if (element.kind != Type::Kind::kElement || !dtype || is_float(*dtype) || size > bytes.size()) {
    cursor_.fail(fmt::format("found an array of {}", element.name));
  }
  const Attribute elements = literal({*dtype, {static_cast<int64_t>(size)}}, bytes);
  Attribute array = make(Kind::kIntegers);
  for (uint64_t i = 0; i < size; ++i) {
    array.integers.push_back(elements.literal.as_int(static_cast<int64_t>(i)));
  }
  return array;
}

Attribute AttributeDecoder::decode_resource() {
  const uint32_t type = cursor_.index(table_.container_.types.size(), "the number of a type");
  const TensorType tensor = table_.types_.tensor(type, cursor_.offset());
  const auto& resources = table_.container_.resources;
  const mlir_bytecode::Resource& resource =
      resources[cursor_.index(resources.size(), "the number of a resource")];
  if (resource.bytes.empty() && tensor.num_elements() != 0) {
    cursor_.fail(fmt::format("the elements of this constant are not in the file ({})",
                             escape(resource.key)));
  }
  return literal(tensor, resource.bytes);
}

}  // namespace spmd::vhlo
