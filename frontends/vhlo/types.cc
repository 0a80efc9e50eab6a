#include "frontends/vhlo/types.h"

#include <charconv>
#include <limits>

#include "support/error.h"

namespace spmd::vhlo {

using mlir_bytecode::Cursor;

namespace {

Type element(std::string_view name) {
  Type type;
  type.kind = Type::Kind::kElement;
  type.name = name;
  return type;
}

Type other(std::string_view name) {
  Type type;
  type.name = name;
  return type;
}

// Codes of VHLO that stand for a type by themselves.
struct Code {
  uint64_t code;
  std::string_view name;
};
constexpr Code kElementTypes[] = {
    {0, "i1"},          {2, "bf16"},        {3, "f16"},
    {4, "f32"},         {5, "f64"},         {6, "f8E4M3FN"},
    {7, "f8E5M2"},      {9, "index"},       {10, "i4"},
    {11, "i8"},         {12, "i16"},        {13, "i32"},
    {14, "i64"},        {15, "ui4"},        {16, "ui8"},
    {17, "ui16"},       {18, "ui32"},       {19, "ui64"},
    {27, "f8E4M3FNUZ"}, {28, "f8E5M2FNUZ"}, {29, "f8E4M3B11FNUZ"},
    {31, "i2"},         {32, "ui2"},        {34, "tf32"},
    {35, "f8E4M3"},     {36, "f8E3M4"},     {37, "f4E2M1FN"},
    {38, "f6E2M3FN"},   {39, "f6E3M2FN"},   {40, "f8E8M0FNU"},
};
struct VhloTypeCode {
  enum : uint64_t {
    kComplex = 1,
    kFunction = 8,
    kRankedTensor = 20,
    kEncodedTensor = 21,
    kToken = 22,
    kTuple = 23,
    kQuantized = 24,
    kUnrankedTensor = 25,
    kWitness = 26,
    kQuantizedPerAxis = 30,
    kNone = 33,
    kBuffer = 41,
    kFuture = 42,
  };
};

// MLIR writes a size that is not known as the least integer.
constexpr int64_t kUnknownSize = std::numeric_limits<int64_t>::min();

constexpr int kMaxTypeDepth = 100;
constexpr size_t kMaxParts = 1 << 20;  // of one tuple, whose types may repeat

}  // namespace

TypeTable::TypeTable(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container)
    : origin_(origin), container_(container), types_(container.types.size()) {}

const Type& TypeTable::at(uint32_t index) {
  std::optional<Type>& slot = types_.at(index);
  if (slot) return *slot;
  const mlir_bytecode::Entry& entry = container_.types[index];
  // A type may refer to itself in a damaged file.
  if (++depth_ > kMaxTypeDepth) {
    origin_.fail(origin_.offset(entry.bytes.data()), "types are nested too deeply");
  }
  slot = decode(entry);
  --depth_;
  return *slot;
}

Type TypeTable::decode(const mlir_bytecode::Entry& entry) {
  Cursor cursor(origin_, entry.bytes);
  Type type;
  if (!entry.custom) {
    type = decode_text(cursor);
  } else if (entry.dialect == "vhlo") {
    type = decode_vhlo(cursor);
  } else if (entry.dialect == "builtin") {
    type = decode_builtin(cursor);
  } else {
    return other(fmt::format("a type of the dialect {}", entry.dialect));
  }
  // Of other kinds nothing but the name is read.
  if (type.kind != Type::Kind::kOther) cursor.expect_end("a type");
  return type;
}

uint32_t TypeTable::index(Cursor& cursor) {
  return cursor.index(container_.types.size(), "the number of a type");
}

std::vector<uint32_t> TypeTable::indices(Cursor& cursor) {
  std::vector<uint32_t> list(cursor.count("the number of types"));
  for (uint32_t& part : list) part = index(cursor);
  return list;
}

Type TypeTable::tensor_of(Cursor& cursor, std::vector<int64_t> shape) {
  Type type;
  type.kind = Type::Kind::kTensor;
  type.element = index(cursor);
  type.shape = std::move(shape);
  for (int64_t& size : type.shape) {
    if (size == kUnknownSize) {
      size = kDynamic;
    } else if (size < 0) {
      cursor.fail("a size is negative");
    }
  }
  return type;
}

Type TypeTable::decode_vhlo(Cursor& cursor) {
  const uint64_t code = cursor.varint();
  for (const Code& row : kElementTypes) {
    if (row.code == code) return element(row.name);
  }
  Type type;
  switch (code) {
    case VhloTypeCode::kComplex: {
      const Type& part = at(index(cursor));
      return part.kind == Type::Kind::kElement ? element("complex<" + part.name + ">")
                                               : other("complex");
    }
    case VhloTypeCode::kFunction:
      type.kind = Type::Kind::kFunction;
      type.parts = indices(cursor);
      type.results = indices(cursor);
      return type;
    case VhloTypeCode::kEncodedTensor:
      cursor.index(container_.attributes.size(), "the number of an attribute");
      [[fallthrough]];
    case VhloTypeCode::kRankedTensor:
      return tensor_of(cursor, cursor.signed_varints());
    case VhloTypeCode::kToken:
      type.kind = Type::Kind::kTensor;
      type.name = "token";
      return type;
    case VhloTypeCode::kTuple:
      type.kind = Type::Kind::kTuple;
      type.parts = indices(cursor);
      return type;
    case VhloTypeCode::kQuantized:
    case VhloTypeCode::kQuantizedPerAxis:
      return other("!quant.uniform");
    case VhloTypeCode::kUnrankedTensor:
      return other("tensor<*>");
    case VhloTypeCode::kWitness:
      return other("!shape.witness");
    case VhloTypeCode::kNone:
      return other("none");
    case VhloTypeCode::kBuffer:
      return other("memref");
    case VhloTypeCode::kFuture:
      return other("!stablehlo.future");
    default:
      cursor.fail(fmt::format("found a type with code {}, which VHLO did not have", code));
  }
}

Type TypeTable::decode_builtin(Cursor& cursor) {
  enum : uint64_t {
    kIntegerCode = 0,
    kIndexCode = 1,
    kFunctionCode = 2,
    kBf16Code = 3,
    kF64Code = 6,
    kComplexCode = 9,
    kNoneCode = 12,
    kTensorCode = 13,
    kEncodedTensorCode = 14,
    kTupleCode = 15,
  };
  const uint64_t code = cursor.varint();
  Type type;
  switch (code) {
    case kIntegerCode: {
      const uint64_t width = cursor.varint();
      return element(fmt::format("{}i{}", (width & 3) == 2 ? "u" : "", width >> 2));
    }
    case kIndexCode:
      return element("index");
    case kFunctionCode:
      type.kind = Type::Kind::kFunction;
      type.parts = indices(cursor);
      type.results = indices(cursor);
      return type;
    case kComplexCode: {
      const Type& part = at(index(cursor));
      return part.kind == Type::Kind::kElement ? element("complex<" + part.name + ">")
                                               : other("complex");
    }
    case kNoneCode:
      return other("none");
    case kEncodedTensorCode:
      cursor.index(container_.attributes.size(), "the number of an attribute");
      [[fallthrough]];
    case kTensorCode:
      return tensor_of(cursor, cursor.signed_varints());
    case kTupleCode:
      type.kind = Type::Kind::kTuple;
      type.parts = indices(cursor);
      return type;
    default:
      break;
  }
  constexpr std::string_view kFloats[] = {"bf16", "f16", "f32", "f64"};
  if (code >= kBf16Code && code <= kF64Code) return element(kFloats[code - kBf16Code]);
  return other(fmt::format("builtin type {}", code));
}

void TypeTable::fail_type(const Type& type, size_t user) const {
  if (type.name == "!quant.uniform") {
    origin_.fail(user, "quantized element types are not supported",
                 "export the program before quantization, or with integer arithmetic");
  }
  const std::string name = type.kind == Type::Kind::kFunction ? "a function"
                           : type.kind == Type::Kind::kTuple  ? "a tuple"
                                                              : type.name;
  origin_.fail(user, fmt::format("found the type {}, expected a tensor", name));
}

TensorType TypeTable::tensor(uint32_t index, size_t user) {
  const Type& type = at(index);
  if (type.kind != Type::Kind::kTensor) fail_type(type, user);
  if (type.name == "token") return {DType::kToken, {}};
  const Type& part = at(type.element);
  if (part.kind != Type::Kind::kElement) fail_type(part, user);
  TensorType result;
  result.shape = type.shape;
  const auto dtype = dtype_named(part.name);
  if (part.name == "index") {
    result.dtype = DType::kS64;  // only occurs in operand layouts
  } else if (dtype && *dtype != DType::kToken) {
    result.dtype = *dtype;
  } else {
    origin_.fail(user, fmt::format("the element type {} is not supported", part.name));
  }
  if (!is_valid(result)) origin_.fail(user, "a tensor is too large");
  return result;
}

void TypeTable::add_leaves(uint32_t index, size_t user, std::vector<TensorType>& leaves) {
  const Type& type = at(index);
  if (type.kind != Type::Kind::kTuple) {
    leaves.push_back(tensor(index, user));
    return;
  }
  if (depth_ == 0) tuple_parts_ = 0;
  tuple_parts_ += type.parts.size();
  if (++depth_ > kMaxTypeDepth || tuple_parts_ > kMaxParts) {
    origin_.fail(user, "a tuple has too many parts");
  }
  for (uint32_t part : type.parts) add_leaves(part, user, leaves);
  --depth_;
}

int TypeTable::element_bits(const Type& type, const Cursor& cursor) {
  const std::string& name = type.name;
  if (type.kind == Type::Kind::kElement) {
    if (name == "index") return 64;
    if (name == "tf32") return 19;
    const size_t digit = name.find_first_of("0123456789");
    int bits = 0;
    if (digit != std::string::npos && !name.starts_with("complex")) {
      std::from_chars(name.data() + digit, name.data() + name.size(), bits);
    }
    if (bits >= 1 && bits <= 64) return bits;
  }
  cursor.fail(fmt::format("found a number of the type {}", name));
}

// "f8E4M3FN"; types without an encoding of their own.
Type TypeTable::decode_text(Cursor& cursor) {
  const std::string_view text = cursor.null_terminated();
  return dtype_named(text) ? element(text) : other(text);
}

}  // namespace spmd::vhlo
