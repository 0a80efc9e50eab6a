#include "ir/text/attribute.h"

#include <charconv>
#include <cstdlib>

#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

const Attribute* AttributeReader::find(std::string_view name) const {
  for (const NamedAttribute& entry : entries_) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

const Attribute& AttributeReader::get(std::string_view name) const {
  const Attribute* found = find(name);
  if (found == nullptr) fail(fmt::format("the attribute {} is missing", name));
  return *found;
}

int64_t AttributeReader::integer_of(const Attribute& attribute, std::string_view name) const {
  if (attribute.kind == Kind::kInteger || attribute.kind == Kind::kBool) return attribute.integer;
  if (attribute.kind == Kind::kLiteral && attribute.literal.type().num_elements() == 1 &&
      !is_float(attribute.literal.type().dtype)) {
    return attribute.literal.as_int(0);
  }
  fail(attribute, name, "an integer");
}

int64_t AttributeReader::integer(std::string_view name) const {
  return integer_of(get(name), name);
}

int64_t AttributeReader::integer_or(std::string_view name, int64_t otherwise) const {
  const Attribute* found = find(name);
  return found == nullptr ? otherwise : integer_of(*found, name);
}

double AttributeReader::number(std::string_view name) const {
  const Attribute& found = get(name);
  if (found.kind == Kind::kInteger) return static_cast<double>(found.integer);
  if (found.kind == Kind::kFloat) {
    const std::string text(found.text);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() + text.size()) return value;
  }
  fail(found, name, "a number");
}

double AttributeReader::number_or(std::string_view name, double otherwise) const {
  return find(name) == nullptr ? otherwise : number(name);
}

uint64_t AttributeReader::unsigned_of(const Attribute& attribute, std::string_view name) const {
  if (attribute.kind == Kind::kInteger && attribute.integer >= 0) {
    return static_cast<uint64_t>(attribute.integer);
  }
  if (attribute.kind == Kind::kFloat) {  // beyond int64
    uint64_t value = 0;
    const char* end = attribute.text.data() + attribute.text.size();
    const auto [stop, error] = std::from_chars(attribute.text.data(), end, value);
    if (error == std::errc() && stop == end) return value;
  }
  fail(attribute, name, "an integer of 0 or more");
}

bool AttributeReader::boolean_or(std::string_view name, bool otherwise) const {
  const Attribute* found = find(name);
  if (found == nullptr) return otherwise;
  if (found->kind == Kind::kUnit) return true;
  if (found->kind == Kind::kBool) return found->integer != 0;
  fail(*found, name, "true or false");
}

std::string AttributeReader::string_or(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = find(name);
  if (found == nullptr) return std::string(otherwise);
  if (found->kind == Kind::kString || found->kind == Kind::kSymbol) return found->string;
  if (found->kind == Kind::kDict) return std::string(found->text);
  fail(*found, name, "a string");
}

std::vector<int64_t> AttributeReader::integers_of(const Attribute& attribute,
                                                  std::string_view name) const {
  switch (attribute.kind) {
    case Kind::kIntegers:
      return attribute.integers;
    case Kind::kArray: {
      std::vector<int64_t> values;
      values.reserve(attribute.elements.size());
      for (const Attribute& element : attribute.elements) {
        if (element.kind == Kind::kArray) {
          const std::vector<int64_t> inner = integers_of(element, name);
          values.insert(values.end(), inner.begin(), inner.end());
        } else {
          values.push_back(integer_of(element, name));
        }
      }
      return values;
    }
    case Kind::kLiteral: {
      const Literal& literal = attribute.literal;
      constexpr int64_t kMost = int64_t{1} << 24;
      if (is_float(literal.type().dtype) || literal.type().num_elements() > kMost) break;
      std::vector<int64_t> values(static_cast<size_t>(literal.type().num_elements()));
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = literal.as_int(static_cast<int64_t>(i));
      }
      return values;
    }
    default:
      break;
  }
  fail(attribute, name, "a list of integers");
}

std::vector<int64_t> AttributeReader::integers(std::string_view name) const {
  return integers_of(get(name), name);
}

std::vector<int64_t> AttributeReader::integers_or(std::string_view name,
                                                  std::vector<int64_t> otherwise) const {
  const Attribute* found = find(name);
  return found == nullptr ? std::move(otherwise) : integers_of(*found, name);
}

std::string_view AttributeReader::enumerator(const Attribute& attribute,
                                             std::string_view expected) const {
  if (attribute.kind == Kind::kEnum) return attribute.text;
  if (attribute.kind == Kind::kString) return attribute.string;
  throw UserError(places_.place(attribute.position),
                  fmt::format("found {}, expected {}", places_.found(attribute), expected));
}

AttributeReader AttributeReader::dict(const Attribute& attribute) const {
  if (attribute.kind != Kind::kDict) {
    throw UserError(places_.place(attribute.position),
                    fmt::format("found {}, expected a dictionary", places_.found(attribute)));
  }
  return AttributeReader(places_, attribute.entries, subject_, attribute.position);
}

void AttributeReader::fail(const Attribute& attribute, std::string_view name,
                           std::string_view expected) const {
  throw UserError(places_.place(attribute.position),
                  fmt::format("{}: found {} for the attribute {}, expected {}", subject_,
                              places_.found(attribute), name, expected));
}

void AttributeReader::fail(std::string_view fact) const {
  throw UserError(places_.place(position_), fmt::format("{}: {}", subject_, fact));
}

}  // namespace spmd::text
