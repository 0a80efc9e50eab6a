#include <charconv>

#include "ir/text/attribute_text.h"
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

Attribute parse_attribute_text(std::string_view text, const std::string& place,
                               const MeshLookup& meshes) {
  return Parser(text, place, Scanner::Kind::kEmbedded).parse_alone(meshes);
}

// What stands there, quoted and shortened.
std::string Parser::found(const Attribute& attribute) const {
  Scanner scan = scan_;
  scan.seek(attribute.position);
  return scan.found();
}

Attribute Parser::parse_alone(const MeshLookup& meshes) {
  other_meshes_ = meshes;
  Attribute attribute = parse_attribute();
  if (!scan_.at_end()) scan_.fail_expected("the end of the attribute");
  return attribute;
}

std::string Parser::parse_symbol() {
  std::string name = scan_.peek_string() ? scan_.expect_string()
                                         : std::string(scan_.expect_suffix("a symbol's name"));
  while (scan_.accept("::@")) name += "::" + parse_symbol();
  return name;
}

void Parser::parse_dict(Dict& dict) {
  scan_.expect("{");
  parse_dict_entries(dict, "}");
}

void Parser::parse_dict_entries(Dict& dict, std::string_view close) {
  while (!scan_.peek(close)) {
    NamedAttribute entry;
    scan_.skip_blanks();
    const size_t start = scan_.position();
    entry.name = scan_.peek_string() ? scan_.expect_string()
                                     : std::string(scan_.expect_word_of("an attribute's name"));
    if (scan_.accept("=")) {
      entry.value = parse_attribute();
    } else {
      entry.value.position = start;
    }
    dict.push_back(std::move(entry));
    if (!scan_.accept(",")) break;
  }
  scan_.expect(close);
}

Attribute Parser::parse_attribute() {
  const DepthGuard guard(depth_, scan_);
  Attribute attribute;
  const char next = scan_.peek();
  attribute.position = scan_.position();
  const auto of_kind = [&](Kind kind) {
    attribute.kind = kind;
    return std::move(attribute);
  };
  switch (next) {
    case '"':
      attribute.string = scan_.expect_string();
      if (scan_.accept(":")) skip_any_type();
      return of_kind(Kind::kString);
    case '@':
      scan_.expect("@");
      attribute.string = parse_symbol();
      return of_kind(Kind::kSymbol);
    case '[':
      scan_.expect("[");
      while (!scan_.peek("]")) {
        attribute.elements.push_back(parse_attribute());
        if (!scan_.accept(",")) break;
      }
      scan_.expect("]");
      return of_kind(Kind::kArray);
    case '{':
      parse_dict(attribute.entries);
      attribute.text = text_.substr(attribute.position, scan_.position() - attribute.position);
      return of_kind(Kind::kDict);
    case '#':
      return parse_dialect_attribute();
    case '<':  // in a list, whose elements leave out their #stablehlo.mesh_axis
      scan_.expect("<");
      parse_dict_entries(attribute.entries, ">");
      return of_kind(Kind::kDict);
    case '(':  // a function type, or the "(1)2" of a sub-axis
      scan_.expect("(");
      if (const auto pre = scan_.accept_integer()) {
        scan_.expect(")");
        attribute.integers = {*pre, scan_.expect_integer()};
        return of_kind(Kind::kIntegers);
      }
      scan_.seek(attribute.position);
      skip_any_type();
      return of_kind(Kind::kOther);
    default:
      break;
  }
  if (next == '-' || (next >= '0' && next <= '9')) return parse_number(attribute.position);
  if (scan_.accept_word("true") || scan_.peek_word("false")) {
    attribute.integer = scan_.accept_word("false") ? 0 : 1;
    return of_kind(Kind::kBool);
  }
  if (scan_.accept_word("dense")) {
    attribute.literal = parse_dense();
    return of_kind(Kind::kLiteral);
  }
  if (scan_.accept_word("dense_resource")) {
    attribute.literal = parse_dense_resource();
    return of_kind(Kind::kLiteral);
  }
  if (scan_.accept_word("array")) return parse_array_attribute(std::move(attribute));
  if (scan_.accept_word("unit")) return of_kind(Kind::kUnit);
  if (scan_.accept_word("loc")) {
    parse_location();
    return of_kind(Kind::kOther);
  }
  if (next != '!' && !scan_.peek_word("tensor")) {
    // A type (i32), or a bare enumerator (THREE_FRY).
    attribute.text = scan_.expect_word_of("an attribute");
    if (!scan_.accept("<")) return of_kind(Kind::kEnum);
    while (!scan_.peek(">")) {
      skip_balanced();
      if (!scan_.accept(",")) break;
    }
    scan_.expect(">");
    return of_kind(Kind::kOther);
  }
  skip_any_type();
  return of_kind(Kind::kOther);
}

Attribute number_attribute(std::string_view text, size_t position) {
  Attribute attribute;
  attribute.position = position;
  attribute.text = text;
  const char* end = text.data() + text.size();
  const bool hexadecimal = text.starts_with("0x");
  const char* begin = text.data() + (hexadecimal ? 2 : 0);
  const auto [stop, error] = std::from_chars(begin, end, attribute.integer, hexadecimal ? 16 : 10);
  attribute.kind = error == std::errc() && stop == end ? Kind::kInteger : Kind::kFloat;
  return attribute;
}

Attribute Parser::parse_number(size_t position) {
  Attribute attribute = number_attribute(scan_.expect_number(), position);
  if (scan_.accept(":")) skip_any_type();
  return attribute;
}

// After "array": `<i64: 1, 2>`, `<i64>`, `<i1: true>`.
Attribute Parser::parse_array_attribute(Attribute attribute) {
  attribute.kind = Kind::kIntegers;
  scan_.expect("<");
  const std::string_view type = scan_.expect_word_of("an element type");
  if (scan_.accept(":")) {
    do {
      if (scan_.accept_word("true")) {
        attribute.integers.push_back(1);
      } else if (scan_.accept_word("false")) {
        attribute.integers.push_back(0);
      } else if (type.starts_with('f')) {
        scan_.expect_number();
        attribute.kind = Kind::kOther;
      } else {
        attribute.integers.push_back(scan_.expect_integer());
      }
    } while (scan_.accept(","));
  }
  scan_.expect(">");
  return attribute;
}

// At "#": an alias, `#stablehlo.gather<...>`, `#stablehlo<precision HIGHEST>`,
// `#sdy.sharding<...>`.
Attribute Parser::parse_dialect_attribute() {
  Attribute attribute;
  attribute.position = scan_.position();
  scan_.expect("#");
  const std::string_view name = scan_.expect_suffix("the name of an attribute");
  if (aliases_.contains(name)) return parse_attribute_alias(name, attribute.position);
  if (name == "sdy.sharding") {
    attribute.kind = Kind::kShardings;
    attribute.shardings.push_back(scan_sharding(scan_, mesh_lookup()));
    return attribute;
  }
  if (name == "sdy.sharding_per_value") {
    attribute.kind = Kind::kShardings;
    scan_.expect("<");
    attribute.shardings = scan_shardings(scan_, mesh_lookup());
    scan_.expect(">");
    return attribute;
  }
  if (name == "sdy.mesh") {
    attribute.kind = Kind::kShardings;
    attribute.shardings.emplace_back();
    attribute.shardings.back().mesh = scan_mesh(scan_);
    return attribute;
  }
  if (name == "sdy" && scan_.accept("<manual_axes")) {
    attribute.kind = Kind::kShardings;  // axes travel as a sharding's manual axes
    attribute.shardings.emplace_back();
    attribute.shardings.back().mesh = module_.mesh;
    attribute.shardings.back().sharding.manual = scan_axes(scan_, module_.mesh);
    scan_.expect(">");
    return attribute;
  }
  if (name == "stablehlo.conv") return parse_conv_dimensions(std::move(attribute));
  if (!scan_.peek("<")) {
    if (name.find('.') == std::string_view::npos && name != "stablehlo" && name != "chlo") {
      scan_.fail(attribute.position, fmt::format("#{} is not defined", name));
    }
    attribute.kind = Kind::kOther;
    return attribute;
  }
  return parse_dialect_body(name, std::move(attribute));
}

Attribute Parser::parse_attribute_alias(std::string_view name, size_t position) {
  const DepthGuard guard(depth_, scan_);
  const size_t after = scan_.position();
  scan_.seek(aliases_.at(name));
  Attribute attribute = parse_attribute();
  scan_.seek(after);
  attribute.position = position;
  return attribute;
}

Attribute Parser::parse_dialect_body(std::string_view name, Attribute attribute) {
  scan_.expect("<");
  const size_t begin = scan_.position();
  if (name == "stablehlo" || name == "mhlo" || name == "chlo") {  // <precision HIGHEST>
    scan_.expect_word_of("the name of an enumeration");
    if (scan_.peek("<")) {
      // Also <comparison_direction<LT>>, an older spelling.
      scan_.expect("<");
      attribute.text = scan_.expect_word_of("a value");
      scan_.expect(">");
    } else {
      attribute.text = scan_.expect_word_of("a value");
    }
    attribute.kind = Kind::kEnum;
    scan_.expect(">");
    return attribute;
  }
  const bool known =
      name.starts_with("stablehlo.") || name.starts_with("mhlo.") || name.starts_with("chlo.");
  const bool dictionary = known && (scan_.peek(">") || [&] {
                            const bool word = scan_.accept_word().has_value();
                            const bool is_dictionary = word && scan_.peek("=");
                            scan_.seek(begin);
                            return is_dictionary;
                          }());
  if (dictionary) {
    attribute.kind = Kind::kDict;
    attribute.string = name;
    parse_dict_entries(attribute.entries, ">");
    return attribute;
  }
  while (!scan_.peek(">")) {
    skip_balanced();
    if (!scan_.accept(",")) break;
  }
  attribute.text = text_.substr(begin, scan_.position() - begin);
  attribute.kind = Kind::kOther;
  scan_.expect(">");
  return attribute;
}

namespace {

void add_integers(Dict& dict, std::string name, std::vector<int64_t> values) {
  NamedAttribute entry{std::move(name), {}};
  entry.value.kind = Kind::kIntegers;
  entry.value.integers = std::move(values);
  dict.push_back(std::move(entry));
}

}  // namespace

// `<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>` with or without the angle brackets. Each bracket
// becomes the positions of its two letters, then those of dimensions 0, 1, ...
Attribute Parser::parse_conv_dimensions(Attribute attribute) {
  attribute.kind = Kind::kDict;
  const bool angled = scan_.accept("<");
  const auto bracket = [&](char first, char second, const char* name) {
    scan_.expect("[");
    std::vector<int64_t> letters(2, -1);
    std::map<int64_t, int64_t> spatial;
    for (int64_t position = 0; !scan_.peek("]"); ++position) {
      const size_t at = scan_.position();
      if (const auto dim = scan_.accept_integer()) {
        if (!spatial.emplace(*dim, position).second) scan_.fail(at, "a dimension occurs twice");
      } else {
        const std::string_view word = scan_.expect_word_of("a dimension");
        const size_t which = word == std::string_view(&first, 1) ? 0 : 1;
        if (which == 1 && word != std::string_view(&second, 1)) {
          scan_.fail(at,
                     fmt::format("found '{}', expected {}, {} or a number", word, first, second));
        }
        letters[which] = position;
      }
      if (!scan_.accept(",")) break;
    }
    if (letters[0] < 0 || letters[1] < 0) {
      scan_.fail_expected(fmt::format("{} and {} before the bracket closes", first, second));
    }
    int64_t next = 0;
    for (const auto& [dim, position] : spatial) {
      if (dim != next++) scan_.fail_expected("dimensions numbered from 0");
      letters.push_back(position);
    }
    scan_.expect("]");
    add_integers(attribute.entries, name, std::move(letters));
  };
  bracket('b', 'f', "input");
  scan_.expect("x");
  bracket('i', 'o', "kernel");
  scan_.expect("->");
  bracket('b', 'f', "output");
  if (angled) scan_.expect(">");
  return attribute;
}

}  // namespace spmd::text
