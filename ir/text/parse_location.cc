#include "ir/text/location.h"
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

LocationRef Parser::text_location(size_t position) {
  Location location;
  location.file = source_;
  location.line = scan_.line_column(position).line;
  return std::make_shared<const Location>(std::move(location));
}

void Parser::accept_location(OpId op) {
  if (!scan_.accept_word("loc")) return;
  LocationRef location = parse_location();
  if (location != nullptr && !fn_->is_erased(op)) fn_->op(op).location = std::move(location);
}

// Null when it says nothing.
LocationRef Parser::parse_location() {
  scan_.expect("(");
  if (scan_.peek("#")) {
    // An alias is read once and shared.
    scan_.expect("#");
    const size_t position = scan_.position();
    const std::string_view name = scan_.expect_suffix("the name of a location");
    scan_.expect(")");
    const auto known = alias_locations_.find(name);
    if (known != alias_locations_.end()) return known->second;
    const size_t after = scan_.position();
    scan_.seek(position - 1);
    Location location = parse_location_body(0);
    scan_.seek(after);
    LocationRef shared =
        location == Location{} ? nullptr : std::make_shared<const Location>(std::move(location));
    alias_locations_.emplace(name, shared);
    return shared;
  }
  Location location = parse_location_body(0);
  scan_.expect(")");
  if (location == Location{}) return nullptr;
  return std::make_shared<const Location>(std::move(location));
}

Location merge(Location outer, Location inner) {
  if (outer.name.empty()) outer.name = std::move(inner.name);
  if (outer.file.empty()) {
    outer.file = std::move(inner.file);
    outer.line = inner.line;
  }
  return outer;
}

Location Parser::parse_location_body(int depth) {
  // Chains of calls are longer than any sensible nesting of ops.
  if (depth > 500) scan_.fail(scan_.position(), "nested too deeply");
  if (scan_.accept_word("unknown")) return {};
  if (scan_.accept("#")) {
    const size_t start = scan_.position();
    const std::string_view name = scan_.expect_suffix("the name of a location");
    const auto alias = aliases_.find(name);
    if (alias == aliases_.end()) scan_.fail(start, fmt::format("#{} is not defined", name));
    const size_t after = scan_.position();
    scan_.seek(alias->second);
    const bool wrapped = scan_.accept_word("loc");
    if (wrapped) scan_.expect("(");
    Location location = parse_location_body(depth + 1);
    scan_.seek(after);
    return location;
  }
  if (scan_.accept_word("callsite")) {
    scan_.expect("(");
    Location callee = parse_location_body(depth + 1);
    scan_.expect_word("at");
    Location caller = parse_location_body(depth + 1);
    scan_.expect(")");
    return merge(std::move(callee), std::move(caller));
  }
  if (scan_.accept_word("fused")) {
    if (scan_.accept("<")) {
      skip_balanced();
      scan_.expect(">");
    }
    scan_.expect("[");
    Location location;
    while (!scan_.peek("]")) {
      location = merge(std::move(location), parse_location_body(depth + 1));
      if (!scan_.accept(",")) break;
    }
    scan_.expect("]");
    return location;
  }
  if (scan_.accept_word("loc")) {
    scan_.expect("(");
    Location location = parse_location_body(depth + 1);
    scan_.expect(")");
    return location;
  }
  Location location;
  std::string text = scan_.expect_string("a location");
  if (scan_.accept(":")) {
    location.file = std::move(text);
    location.line = static_cast<int>(scan_.expect_integer("a line"));
    if (scan_.accept(":")) scan_.expect_integer("a column");
    if (scan_.accept_word("to")) {  // the end of a range: line:column or :column
      scan_.accept_integer();
      scan_.expect(":");
      scan_.expect_integer("a column");
    }
    return location;
  }
  location.name = std::move(text);
  if (scan_.accept("(")) {
    location = merge(std::move(location), parse_location_body(depth + 1));
    scan_.expect(")");
  }
  return location;
}

}  // namespace spmd::text
