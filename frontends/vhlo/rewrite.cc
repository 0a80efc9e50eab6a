#include "frontends/vhlo/rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/scanner.h"

namespace spmd::vhlo {

using text::Attribute;
using text::NamedAttribute;
using Kind = Attribute::Kind;

namespace {

// Entries of `attributes` that become a dictionary.
struct Group {
  std::string_view operation, dictionary;
  std::vector<std::string_view> members;
};

const std::vector<Group>& groups() {
  static const std::vector<std::string_view> kGather = {
      "offset_dims",           "collapsed_slice_dims",
      "operand_batching_dims", "start_indices_batching_dims",
      "start_index_map",       "index_vector_dim"};
  static const std::vector<Group> rows = {
      {"stablehlo.dot_general",
       "dot_dimension_numbers",
       {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions"}},
      {"stablehlo.dot_general",
       "algorithm",
       {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
        "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"}},
      {"stablehlo.gather", "dimension_numbers", kGather},
      {"stablehlo.dynamic_gather", "dimension_numbers", kGather},
      {"stablehlo.scatter",
       "scatter_dimension_numbers",
       {"update_window_dims", "inserted_window_dims", "input_batching_dims",
        "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"}},
  };
  return rows;
}

std::optional<Attribute> take(std::vector<NamedAttribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const NamedAttribute& entry) { return entry.name == name; });
  if (found == attributes.end()) return std::nullopt;
  Attribute value = std::move(found->value);
  attributes.erase(found);
  return value;
}

void add(std::vector<NamedAttribute>& attributes, std::string_view name, Attribute value) {
  attributes.push_back({std::string(name), std::move(value)});
}

void gather_group(const Group& group, std::vector<NamedAttribute>& attributes) {
  Attribute dictionary;
  dictionary.kind = Kind::kDict;
  for (const std::string_view member : group.members) {
    // Of a dot without an algorithm, all members are of no type.
    if (auto value = take(attributes, member); value && value->kind != Kind::kOther) {
      add(dictionary.entries, member, std::move(*value));
    }
  }
  if (!dictionary.entries.empty()) add(attributes, group.dictionary, std::move(dictionary));
}

// Two numbers and a list become one list, as #stablehlo.conv<[b, 0, 1, f]x...> has it.
void gather_convolution(std::vector<NamedAttribute>& attributes) {
  Attribute dictionary;
  dictionary.kind = Kind::kDict;
  struct Part {
    std::string_view name, first, second;
  };
  for (const auto& [name, first, second] :
       {Part{"input", "batch", "feature"}, Part{"kernel", "input_feature", "output_feature"},
        Part{"output", "batch", "feature"}}) {
    Attribute list;
    list.kind = Kind::kArray;
    for (const std::string_view which : {first, second}) {
      auto number = take(attributes, fmt::format("{}_{}_dimension", name, which));
      if (number) list.elements.push_back(std::move(*number));
    }
    auto spatial = take(attributes, fmt::format("{}_spatial_dimensions", name));
    if (spatial && spatial->kind == Kind::kLiteral && !is_float(spatial->literal.type().dtype)) {
      const Literal& literal = spatial->literal;
      constexpr int64_t kMost = kMaxRank;
      for (int64_t i = 0; i < std::min(kMost, literal.type().num_elements()); ++i) {
        Attribute element;
        element.kind = Kind::kInteger;
        element.integer = literal.as_int(i);
        list.elements.push_back(std::move(element));
      }
    }
    add(dictionary.entries, name, std::move(list));
  }
  add(attributes, "dimension_numbers", std::move(dictionary));
}

void to_symbol(std::vector<NamedAttribute>& attributes, std::string_view name) {
  for (NamedAttribute& entry : attributes) {
    if (entry.name == name && entry.value.kind == Kind::kString) entry.value.kind = Kind::kSymbol;
  }
}

std::string list_text(const std::vector<Attribute>& elements) {
  std::string text;
  for (const Attribute& element : elements) {
    text += (text.empty() ? "" : ", ") + attribute_text(element);
  }
  return text;
}

std::string dict_text(const std::vector<NamedAttribute>& entries) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";
  std::string text;
  for (const NamedAttribute& entry : entries) {
    if (!text.empty()) text += ", ";
    const bool plain = entry.name.find_first_not_of(kPlain) == std::string::npos;
    text += plain ? entry.name : "\"" + escape(entry.name) + "\"";
    if (entry.value.kind != Kind::kUnit) text += " = " + attribute_text(entry.value);
  }
  return text;
}

}  // namespace

void to_stablehlo(std::string_view name, std::vector<NamedAttribute>& attributes) {
  for (const Group& group : groups()) {
    if (group.operation == name) gather_group(group, attributes);
  }
  if (name == "stablehlo.convolution" || name == "stablehlo.dynamic_conv") {
    gather_convolution(attributes);
  }
  if (name == "func.call") to_symbol(attributes, "callee");
  if (name == "stablehlo.composite") to_symbol(attributes, "decomposition");
  if (name == "stablehlo.custom_call") {
    for (NamedAttribute& entry : attributes) {
      if (!entry.name.ends_with("backend_config") || entry.value.kind != Kind::kDict) continue;
      entry.value.string = attribute_text(entry.value);
      entry.value.kind = Kind::kString;
    }
  }
}

std::string attribute_text(const Attribute& attribute) {
  switch (attribute.kind) {
    case Kind::kUnit:
      return "unit";
    case Kind::kBool:
      return attribute.integer != 0 ? "true" : "false";
    case Kind::kInteger:
      return attribute.string.empty() ? fmt::to_string(attribute.integer) : attribute.string;
    case Kind::kFloat:
      return attribute.string.empty() ? std::string(attribute.text) : attribute.string;
    case Kind::kString:
      return "\"" + escape(attribute.string) + "\"";
    case Kind::kSymbol:
      return "@" + attribute.string;
    case Kind::kIntegers:
      return fmt::format("array<i64: {}>", fmt::join(attribute.integers, ", "));
    case Kind::kArray:
      return "[" + list_text(attribute.elements) + "]";
    case Kind::kDict:
      return "{" + dict_text(attribute.entries) + "}";
    case Kind::kLiteral:
      return "dense<...> : " + to_string(attribute.literal.type());
    case Kind::kShardings:
      return "#sdy.sharding";
    case Kind::kEnum:
    case Kind::kOther:
      return std::string(attribute.text);
  }
  return "";
}

}  // namespace spmd::vhlo
