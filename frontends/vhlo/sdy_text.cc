#include "frontends/vhlo/sdy_text.h"

#include "frontends/vhlo/attributes.h"
#include "support/error.h"
#include "support/scanner.h"

namespace spmd::vhlo {

using mlir_bytecode::Cursor;

namespace {

struct SdyCode {
  enum : uint64_t {
    kMeshAxis = 1,
    kMesh = 2,
    kSubAxis = 3,
    kAxisRef = 4,
    kDimension = 5,
    kSharding = 6,
    kPerValue = 7,
    kUnreducedSharding = 15,
    kUnreducedPerValue = 16,
    kReducedSharding = 17,  // unreduced by something else than a sum
  };
};

constexpr size_t kMostText = size_t{1} << 20;  // of one attribute, whose parts may repeat

std::string quoted(std::string_view text) { return "\"" + escape(text) + "\""; }

}  // namespace

std::string SdyText::attribute(uint64_t code, Cursor& cursor) {
  written_ = 0;
  switch (code) {
    case SdyCode::kMesh:
      return "#sdy.mesh" + mesh(cursor);
    case SdyCode::kSharding:
    case SdyCode::kUnreducedSharding:
    case SdyCode::kReducedSharding:
      return "#sdy.sharding" + sharding(code, cursor);
    case SdyCode::kPerValue:
    case SdyCode::kUnreducedPerValue:
      return "#sdy.sharding_per_value<" + shardings(cursor) + ">";
    default:
      return "";
  }
}

template <typename Read>
std::string SdyText::part(Cursor& cursor, std::initializer_list<uint64_t> codes, Read&& read) {
  const size_t start = cursor.offset();
  const mlir_bytecode::Entry& entry =
      container_
          .attributes[cursor.index(container_.attributes.size(), "the number of an attribute")];
  Cursor inner(origin_, entry.bytes);
  if (entry.dialect == "sdy" && entry.custom) {
    const uint64_t code = inner.varint();
    for (const uint64_t expected : codes) {
      if (code != expected) continue;
      std::string text = read(code, inner);
      inner.expect_end("an attribute of sdy");
      written_ += text.size();
      if (written_ > kMostText) origin_.fail(start, "a sharding is too long when written out");
      return text;
    }
  }
  origin_.fail(start, "a part of a sharding is another attribute than expected");
}

template <typename Read>
std::string SdyText::list(Cursor& cursor, Read&& read) {
  std::string text;
  const size_t count = cursor.count("the length of a list");
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + read();
  return text;
}

std::string SdyText::quoted_string(Cursor& cursor) {
  const auto& strings = container_.strings;
  return quoted(strings[cursor.index(strings.size(), "the number of a string")]);
}

std::string SdyText::mesh(Cursor& cursor) {
  std::string text = "<[" +
                     list(cursor,
                          [&] {
                            return part(cursor, {SdyCode::kMeshAxis}, [&](uint64_t, Cursor& inner) {
                              const std::string name = quoted_string(inner);
                              return fmt::format("{}={}", name, inner.signed_varint());
                            });
                          }) +
                     "]";
  const std::vector<int64_t> devices = cursor.signed_varints();
  if (!devices.empty()) text += fmt::format(", device_ids=[{}]", fmt::join(devices, ", "));
  return text + ">";
}

std::string SdyText::mesh_or_name(Cursor& cursor) {
  Cursor ahead = cursor;
  const uint32_t index = ahead.index(container_.attributes.size(), "the number of an attribute");
  if (container_.attributes[index].dialect == "sdy") {
    return "mesh" +
           part(cursor, {SdyCode::kMesh}, [&](uint64_t, Cursor& inner) { return mesh(inner); });
  }
  cursor = ahead;
  const text::Attribute& name = attributes_.at(index);
  if (name.kind != text::Attribute::Kind::kSymbol) cursor.fail("a sharding names no mesh");
  return "@" + quoted(name.string);
}

std::string SdyText::axis(Cursor& cursor) {
  return part(cursor, {SdyCode::kAxisRef}, [&](uint64_t, Cursor& inner) {
    std::string text = quoted_string(inner);
    // An attribute that may be missing: its number and whether it is there.
    Cursor ahead = inner;
    const auto [index, present] = ahead.flagged_varint();
    inner = ahead;
    if (!present) return text;
    if (index >= container_.attributes.size()) inner.fail("the part of an axis is missing");
    const mlir_bytecode::Entry& entry = container_.attributes[index];
    Cursor sub(origin_, entry.bytes);
    if (entry.dialect != "sdy" || !entry.custom || sub.varint() != SdyCode::kSubAxis) {
      inner.fail("the part of an axis is another attribute");
    }
    const int64_t pre = sub.signed_varint();
    return text + fmt::format(":({}){}", pre, sub.signed_varint());
  });
}

std::string SdyText::axes(Cursor& cursor) {
  return list(cursor, [&] { return axis(cursor); });
}

std::string SdyText::dimension(Cursor& cursor) {
  return part(cursor, {SdyCode::kDimension}, [&](uint64_t, Cursor& inner) {
    std::string text = axes(inner);
    if (inner.byte() == 0) text += text.empty() ? "?" : ", ?";
    const auto [priority, present] = inner.flagged_varint();
    return "{" + text + "}" + (present ? fmt::format("p{}", priority) : "");
  });
}

std::string SdyText::sharding(uint64_t code, Cursor& cursor) {
  std::string text = "<" + mesh_or_name(cursor);
  text += ", [" + list(cursor, [&] { return dimension(cursor); }) + "]";
  const std::string replicated = axes(cursor);
  if (!replicated.empty()) text += ", replicated={" + replicated + "}";
  if (code == SdyCode::kSharding) return text + ">";
  const std::string unreduced = axes(cursor);
  std::string reduction;
  if (code == SdyCode::kReducedSharding) {
    constexpr std::string_view kReductions[] = {"", "max", "min"};
    const int64_t which = cursor.signed_varint();
    if (which < 0 || which > 2) cursor.fail(fmt::format("a reduction is {}", which));
    reduction = kReductions[which];
  }
  if (!unreduced.empty()) text += ", unreduced=" + reduction + "{" + unreduced + "}";
  return text + ">";
}

std::string SdyText::shardings(Cursor& cursor) {
  return "[" +
         list(cursor,
              [&] {
                return part(
                    cursor,
                    {SdyCode::kSharding, SdyCode::kUnreducedSharding, SdyCode::kReducedSharding},
                    [&](uint64_t code, Cursor& inner) { return sharding(code, inner); });
              }) +
         "]";
}

}  // namespace spmd::vhlo
