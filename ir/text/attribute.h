// Attributes as the text has them, before they become the typed attributes of an op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"
#include "sharding/spec/sharding_text.h"

namespace spmd::text {

struct NamedAttribute;

struct Attribute {
  enum class Kind : uint8_t {
    kUnit,       // a name without a value
    kBool,       // integer: 0 or 1
    kInteger,    // integer
    kFloat,      // text
    kString,     // string
    kSymbol,     // string, without @
    kEnum,       // text: the value of #stablehlo<precision HIGHEST> or a bare word
    kIntegers,   // integers: array<i64: ...>
    kArray,      // elements
    kDict,       // entries; string: its name in #stablehlo.gather<...>, or empty
    kLiteral,    // literal
    kShardings,  // shardings: one of #sdy.sharding, all of #sdy.sharding_per_value
    kOther,      // text
  };
  Kind kind = Kind::kUnit;
  size_t position = 0;
  int64_t integer = 0;
  std::string_view text;  // the source text of kDict, too
  std::string string;
  std::vector<int64_t> integers;
  std::vector<Attribute> elements;
  std::vector<NamedAttribute> entries;
  Literal literal;
  std::vector<NamedSharding> shardings;
};

// Of a number's text.
Attribute number_attribute(std::string_view text, size_t position);

struct NamedAttribute {
  std::string name;
  Attribute value;
};

// Where things stand in what is read, for messages. Positions are those of the attributes.
class Places {
 public:
  virtual ~Places() = default;
  virtual std::string place(size_t position) const = 0;             // "model.mlir:3:5"
  virtual std::string found(const Attribute& attribute) const = 0;  // "'[1, 2]'"
};

// The attributes of one op (or argument, or dictionary), with typed access. `subject` begins the
// messages: "stablehlo.pad".
class AttributeReader {
 public:
  AttributeReader(const Places& places, const std::vector<NamedAttribute>& entries,
                  std::string_view subject, size_t position)
      : places_(places), entries_(entries), subject_(subject), position_(position) {}

  const Attribute* find(std::string_view name) const;
  const Attribute& get(std::string_view name) const;  // throws when it is missing

  int64_t integer(std::string_view name) const;
  int64_t integer_or(std::string_view name, int64_t otherwise) const;
  // A floating-point number; integers count as such.
  double number(std::string_view name) const;
  double number_or(std::string_view name, double otherwise) const;
  // 0 to 2^64 - 1.
  uint64_t unsigned_of(const Attribute& attribute, std::string_view name) const;
  bool boolean_or(std::string_view name, bool otherwise) const;
  std::string string_or(std::string_view name, std::string_view otherwise) const;
  // array<i64: ...>, [...] or dense<...>, flattened.
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<int64_t> integers_or(std::string_view name, std::vector<int64_t> otherwise) const;
  // An enumerator's spelling.
  std::string_view enumerator(const Attribute& attribute, std::string_view expected) const;

  AttributeReader dict(const Attribute& attribute) const;
  std::vector<int64_t> integers_of(const Attribute& attribute, std::string_view name) const;
  int64_t integer_of(const Attribute& attribute, std::string_view name) const;

  [[noreturn]] void fail(const Attribute& attribute, std::string_view name,
                         std::string_view expected) const;
  // Some other fault of the op.
  [[noreturn]] void fail(std::string_view fact) const;

 private:
  const Places& places_;
  const std::vector<NamedAttribute>& entries_;
  std::string_view subject_;
  size_t position_;
};

}  // namespace spmd::text
