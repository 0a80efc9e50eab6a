#include "frontends/vhlo/attributes.h"

#include "frontends/vhlo/attribute_decoder.h"
#include "frontends/vhlo/sdy_text.h"
#include "ir/text/attribute_text.h"
#include "ir/text/elements.h"
#include "support/error.h"

namespace spmd::vhlo {

using mlir_bytecode::Cursor;
using text::Attribute;
using Kind = Attribute::Kind;

namespace {

constexpr int kMaxAttributeDepth = 100;
// Attributes share parts, which become copies here: what they may grow to. Argument attributes of a
// thousand arguments with a handful of entries each need a tenth of it.
constexpr size_t kNodesPerByte = 64, kMostNodes = size_t{1} << 22;

}  // namespace

AttributeTable::AttributeTable(const mlir_bytecode::Origin& origin,
                               const mlir_bytecode::Container& container, TypeTable& types,
                               MeshLookup meshes)
    : origin_(origin),
      container_(container),
      types_(types),
      meshes_(std::move(meshes)),
      slots_(container.attributes.size()) {}

const Attribute& AttributeTable::at(uint32_t index) {
  Slot& slot = slots_.at(index);
  if (slot.attribute) return *slot.attribute;
  const mlir_bytecode::Entry& entry = container_.attributes[index];
  const size_t offset = origin_.offset(entry.bytes.data());
  // An attribute may refer to itself in a damaged file.
  if (++depth_ > kMaxAttributeDepth) origin_.fail(offset, "attributes are nested too deeply");
  AttributeDecoder decoder(*this, entry);
  slot.attribute = std::make_unique<Attribute>(decoder.decode());
  slot.nodes = decoder.nodes();
  --depth_;
  return *slot.attribute;
}

std::string_view AttributeTable::string(uint32_t index, const Cursor& user) {
  const Attribute& attribute = at(index);
  if (attribute.kind != Kind::kString) user.fail("expected the number of a string");
  return attribute.string;
}

const std::vector<text::NamedAttribute>& AttributeTable::dictionary(uint32_t index, size_t user) {
  const Attribute& attribute = at(index);
  if (attribute.kind != Kind::kDict) origin_.fail(user, "attributes are no dictionary");
  return attribute.entries;
}

std::string_view AttributeTable::keep(std::string text) {
  kept_.push_back(std::move(text));
  return kept_.back();
}

// ---- decoding

Attribute AttributeDecoder::decode() {
  if (!entry_.custom) return decode_text(cursor_.null_terminated());
  Attribute attribute;
  if (entry_.dialect == "vhlo") {
    attribute = decode_vhlo();
  } else if (entry_.dialect == "builtin") {
    attribute = decode_builtin();
  } else if (entry_.dialect == "sdy") {
    return decode_sdy();
  } else {
    cursor_.fail(
        fmt::format("found an attribute of the dialect {}, expected vhlo", entry_.dialect));
  }
  cursor_.expect_end("an attribute");
  return attribute;
}

// The axes of a manual computation stay names: of which mesh, its shardings say.
Attribute AttributeDecoder::decode_sdy() {
  const uint64_t code = cursor_.varint();
  if (code == kSdyManualAxes) {
    Attribute axes = array();
    cursor_.expect_end("an attribute");
    return axes;
  }
  const std::string text =
      SdyText(table_.origin_, table_.container_, table_).attribute(code, cursor_);
  if (text.empty()) return make(Kind::kOther);
  cursor_.expect_end("an attribute");
  return decode_text(table_.keep(text));
}

Attribute AttributeDecoder::decode_text(std::string_view text) {
  Attribute attribute = text::parse_attribute_text(
      text, table_.origin_.place(table_.origin_.offset(entry_.bytes.data())), table_.meshes_);
  attribute.position = 0;
  return attribute;
}

Attribute AttributeDecoder::make(Kind kind) const {
  Attribute attribute;
  attribute.kind = kind;
  return attribute;
}

text::NamedAttribute AttributeDecoder::named(std::string_view name, Attribute value) const {
  return {std::string(name), std::move(value)};
}

uint32_t AttributeDecoder::child_index() {
  return cursor_.index(table_.slots_.size(), "the number of an attribute");
}

Attribute AttributeDecoder::child() {
  const uint32_t index = child_index();
  const Attribute& found = table_.at(index);
  const size_t nodes = table_.slots_[index].nodes;
  nodes_ += nodes;
  table_.nodes_ += nodes;
  const size_t most = std::min(kMostNodes, 4096 + kNodesPerByte * table_.origin_.bytes.size());
  if (table_.nodes_ > most) cursor_.fail("attributes are too large when written out");
  return found;
}

Attribute AttributeDecoder::string() {
  Attribute attribute = make(Kind::kString);
  const auto& strings = table_.container_.strings;
  attribute.string = strings[cursor_.index(strings.size(), "the number of a string")];
  return attribute;
}

Attribute AttributeDecoder::array() {
  Attribute attribute = make(Kind::kArray);
  const size_t count = cursor_.count("the length of an array");
  for (size_t i = 0; i < count; ++i) attribute.elements.push_back(child());
  return attribute;
}

Attribute AttributeDecoder::dictionary() {
  Attribute attribute = make(Kind::kDict);
  const size_t count = cursor_.count("the size of a dictionary", 2);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t name = child_index();
    const std::string_view key = table_.string(name, cursor_);
    attribute.entries.push_back(named(key, child()));
  }
  return attribute;
}

int64_t AttributeDecoder::known_width(int bits) {
  return bits <= 8 ? cursor_.byte() : cursor_.signed_varint();
}

// A type and a number of its width. How MLIR writes the number goes into `string`.
Attribute AttributeDecoder::integer() {
  const uint32_t type = cursor_.index(table_.container_.types.size(), "the number of a type");
  const Type& element = table_.types_.at(type);
  const int bits = table_.types_.element_bits(element, cursor_);
  int64_t value = known_width(bits);
  const bool is_unsigned = element.name.starts_with('u');
  if (bits < 64) {
    const auto shifted = static_cast<uint64_t>(value) << (64 - bits);
    value = is_unsigned ? static_cast<int64_t>(shifted >> (64 - bits))
                        : static_cast<int64_t>(shifted) >> (64 - bits);
  }
  if (element.name == "i1") {
    Attribute boolean = make(Kind::kBool);
    boolean.integer = value != 0 ? 1 : 0;
    return boolean;
  }
  Attribute attribute = make(Kind::kInteger);
  attribute.integer = value;
  attribute.string = fmt::format("{} : {}", value, element.name);
  if (is_unsigned && value < 0) {  // beyond int64
    attribute.kind = Kind::kFloat;
    attribute.text = table_.keep(fmt::to_string(static_cast<uint64_t>(value)));
    attribute.string = fmt::format("{} : {}", attribute.text, element.name);
  }
  return attribute;
}

double AttributeDecoder::number(int bits) { return std::bit_cast<double>(known_width(bits)); }

namespace {

// As MLIR writes floats: six digits where they suffice.
std::string float_text(double value, bool is_double) {
  std::string text = fmt::format("{:.6e}", value);
  const double back = std::strtod(text.c_str(), nullptr);
  const bool exact =
      is_double ? back == value : static_cast<float>(back) == static_cast<float>(value);
  return exact       ? text
         : is_double ? fmt::to_string(value)
                     : fmt::to_string(static_cast<float>(value));
}

}  // namespace

Attribute AttributeDecoder::floating() {
  const uint32_t type = cursor_.index(table_.container_.types.size(), "the number of a type");
  const Type& element = table_.types_.at(type);
  const int64_t bits = known_width(table_.types_.element_bits(element, cursor_));
  const auto dtype = dtype_named(element.name);
  if (!dtype || !is_float(*dtype)) {
    cursor_.fail(
        fmt::format("found a number of the type {}, which is not supported", element.name));
  }
  const double value =
      Literal::splat(TensorType{*dtype, {}}, static_cast<const void*>(&bits)).as_double(0);
  Attribute attribute = make(Kind::kFloat);
  // A float32 means the shortest decimal that rounds to it, as in text.
  const bool is_double = *dtype == DType::kF64;
  attribute.text =
      table_.keep(is_double ? fmt::to_string(value) : fmt::to_string(static_cast<float>(value)));
  attribute.string = fmt::format("{} : {}", float_text(value, is_double), element.name);
  return attribute;
}

Attribute AttributeDecoder::type() {
  const uint32_t index = cursor_.index(table_.container_.types.size(), "the number of a type");
  const Type& found = table_.types_.at(index);
  const bool is_element = found.kind == Type::Kind::kElement;
  Attribute attribute = make(is_element ? Kind::kEnum : Kind::kOther);
  attribute.text = table_.keep(found.name);
  return attribute;
}

Attribute AttributeDecoder::literal(const TensorType& type, std::string_view bytes) {
  for (const int64_t size : type.shape) {
    if (size < 0) cursor_.fail("a constant must have a known shape");
  }
  auto literal = text::literal_from_bytes(type, bytes);
  if (!literal) {
    cursor_.fail(fmt::format("{} bytes, expected {} for {}", bytes.size(), type.num_bytes(),
                             to_string(type)));
  }
  Attribute attribute = make(Kind::kLiteral);
  attribute.literal = std::move(*literal);
  return attribute;
}

Attribute AttributeDecoder::tensor() {
  const uint32_t type = cursor_.index(table_.container_.types.size(), "the number of a type");
  const TensorType tensor = table_.types_.tensor(type, cursor_.offset());
  return literal(tensor, cursor_.bytes(cursor_.varint()));
}

}  // namespace spmd::vhlo
