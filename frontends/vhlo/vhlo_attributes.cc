// Attributes in VHLO's encoding. Symbols are strings there, and what StableHLO has as a list of
// integers is a tensor.
#include "frontends/vhlo/attribute_decoder.h"
#include "support/error.h"

namespace spmd::vhlo {

using text::Attribute;
using Kind = Attribute::Kind;

namespace {

struct VhloCode {
  enum : uint64_t {
    kArray = 1,
    kBoolean = 2,
    kComparisonDirection = 3,
    kComparisonType = 4,
    kApiVersion = 5,
    kDictionary = 6,
    kFftType = 7,
    kFloat = 8,
    kInteger = 9,
    kOutputOperandAlias = 10,
    kPrecision = 11,
    kRngAlgorithm = 12,
    kRngDistribution = 13,
    kString = 14,
    kTensor = 15,
    kTranspose = 16,
    kType = 17,
    kTypeExtensions = 18,
    kResultAccuracyMode = 19,
    kResultAccuracy = 20,
    kSubAxis = 21,
    kAxisRef = 22,
    kReplicaGroupMeshAxes = 23,
    kMeshAxis = 24,
    kMesh = 25,
  };
};

// Enumerators by their numbers; an empty spelling is no enumerator.
struct Enumeration {
  uint64_t code;
  std::string_view name;
  std::vector<std::string_view> values;
};

const std::vector<Enumeration>& enumerations() {
  static const std::vector<Enumeration> rows = {
      {VhloCode::kComparisonDirection,
       "comparison_direction",
       {"EQ", "NE", "GE", "GT", "LE", "LT"}},
      {VhloCode::kComparisonType,
       "comparison_type",
       {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "WEAKORDER"}},
      {VhloCode::kApiVersion,
       "custom_call_api_version",
       {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"}},
      {VhloCode::kFftType, "fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {VhloCode::kPrecision, "precision", {"DEFAULT", "HIGH", "HIGHEST"}},
      {VhloCode::kRngAlgorithm, "rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
      {VhloCode::kRngDistribution, "rng_distribution", {"", "UNIFORM", "NORMAL"}},
      {VhloCode::kTranspose,
       "transpose",
       {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
      {VhloCode::kResultAccuracyMode, "result_accuracy_mode", {"DEFAULT", "HIGHEST", "TOLERANCE"}},
  };
  return rows;
}

}  // namespace

Attribute AttributeDecoder::decode_vhlo() {
  const uint64_t code = cursor_.varint();
  switch (code) {
    case VhloCode::kArray:
      return array();
    case VhloCode::kBoolean: {
      Attribute boolean = make(Kind::kBool);
      boolean.integer = cursor_.index(2, "a boolean");
      return boolean;
    }
    case VhloCode::kDictionary:
      return dictionary();
    case VhloCode::kFloat:
      return floating();
    case VhloCode::kInteger:
      return integer();
    case VhloCode::kOutputOperandAlias:
      return decode_output_operand_alias();
    case VhloCode::kString:
      return string();
    case VhloCode::kTensor:
      return tensor();
    case VhloCode::kType:
      return type();
    case VhloCode::kTypeExtensions: {
      Attribute bounds = make(Kind::kIntegers);
      bounds.integers = cursor_.signed_varints();
      return bounds;
    }
    case VhloCode::kResultAccuracy:
      return decode_result_accuracy();
    case VhloCode::kSubAxis: {
      Attribute sub_axis = make(Kind::kIntegers);
      const int64_t pre = cursor_.signed_varint();
      sub_axis.integers = {pre, cursor_.signed_varint()};
      return sub_axis;
    }
    case VhloCode::kAxisRef:
      return decode_axis_ref();
    case VhloCode::kReplicaGroupMeshAxes: {
      Attribute group = make(Kind::kDict);
      Attribute mesh = child();
      if (mesh.kind == Kind::kString) mesh.kind = Kind::kSymbol;
      group.entries.push_back(named("mesh", std::move(mesh)));
      group.entries.push_back(named("axes", child()));
      return group;
    }
    case VhloCode::kMeshAxis: {
      Attribute axis = make(Kind::kDict);
      axis.entries.push_back(named("name", child()));
      Attribute size = make(Kind::kInteger);
      size.integer = cursor_.signed_varint();
      axis.entries.push_back(named("size", std::move(size)));
      return axis;
    }
    case VhloCode::kMesh:
      return decode_mesh();
    default:
      return decode_enum(code);
  }
}

Attribute AttributeDecoder::decode_enum(uint64_t code) {
  for (const Enumeration& row : enumerations()) {
    if (row.code != code) continue;
    const uint32_t value = cursor_.index(row.values.size(), row.name);
    if (row.values[value].empty()) cursor_.fail(fmt::format("{} is {}", row.name, value));
    Attribute attribute = make(Kind::kEnum);
    attribute.text = row.values[value];
    return attribute;
  }
  cursor_.fail(fmt::format("found an attribute with code {}, which is not known", code));
}

Attribute AttributeDecoder::decode_result_accuracy() {
  Attribute accuracy = make(Kind::kDict);
  for (const std::string_view name : {"atol", "rtol"}) {
    Attribute value = make(Kind::kFloat);
    value.text = table_.keep(fmt::to_string(number(64)));
    accuracy.entries.push_back(named(name, std::move(value)));
  }
  Attribute ulps = make(Kind::kInteger);
  ulps.integer = cursor_.signed_varint();
  accuracy.entries.push_back(named("ulps", std::move(ulps)));
  accuracy.entries.push_back(named("mode", child()));
  return accuracy;
}

Attribute AttributeDecoder::decode_output_operand_alias() {
  Attribute alias = make(Kind::kDict);
  Attribute outputs = make(Kind::kIntegers), operands = make(Kind::kIntegers),
            operand = make(Kind::kInteger);
  outputs.integers = cursor_.signed_varints();
  operand.integer = cursor_.signed_varint();
  operands.integers = cursor_.signed_varints();
  alias.entries = {named("output_tuple_indices", std::move(outputs)),
                   named("operand_index", std::move(operand)),
                   named("operand_tuple_indices", std::move(operands))};
  return alias;
}

Attribute AttributeDecoder::decode_axis_ref() {
  Attribute axis = make(Kind::kDict);
  axis.entries.push_back(named("name", child()));
  if (cursor_.index(2, "whether an axis has parts") == 1) {
    axis.entries.push_back(named("sub_axis_info", child()));
  }
  return axis;
}

Attribute AttributeDecoder::decode_mesh() {
  Attribute mesh = make(Kind::kDict);
  mesh.entries.push_back(named("axes", child()));
  const auto [ids, present] = cursor_.flagged_varint();
  if (!present) return mesh;
  if (ids >= table_.slots_.size()) cursor_.fail("the device numbers of a mesh are missing");
  mesh.entries.push_back(named("device_ids", table_.at(static_cast<uint32_t>(ids))));
  return mesh;
}

}  // namespace spmd::vhlo
