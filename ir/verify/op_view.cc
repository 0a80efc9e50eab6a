#include "ir/verify/op_view.h"

#include "ir/text.h"
#include "support/error.h"

namespace spmd::verifier {
namespace {

unsigned elements_of(DType dtype) {
  switch (kind_of(dtype)) {
    case DTypeKind::kBoolean:
      return kBooleans;
    case DTypeKind::kSigned:
      return kSignedIntegers;
    case DTypeKind::kUnsigned:
      return kUnsignedIntegers;
    case DTypeKind::kFloat:
      return kFloats;
    case DTypeKind::kComplex:
      return kComplex;
    case DTypeKind::kOpaque:
      return 0;
  }
  return 0;
}

// "integers, floats or complex numbers"
std::string describe(unsigned elements) {
  static constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {kBooleans, "booleans"},
      {kIntegers, "integers"},
      {kSignedIntegers, "signed integers"},
      {kUnsignedIntegers, "unsigned integers"},
      {kFloats, "floats"},
      {kComplex, "complex numbers"}};
  std::vector<std::string_view> names;
  for (const auto& [group, name] : kNames) {
    if ((elements & group) != group) continue;
    names.push_back(name);
    elements &= ~group;
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string list_of(const Types& types) {
  std::string text = "(";
  for (const TensorType& type : types) text += (text.size() > 1 ? ", " : "") + to_string(type);
  return text + ")";
}

}  // namespace

bool contains(unsigned elements, DType dtype) { return (elements & elements_of(dtype)) != 0; }

bool is_promotable(DType from, DType to) {
  return kind_of(from) == kind_of(to) && bit_width(from) <= bit_width(to);
}

Types OpView::types(std::span<const ValueId> values) const {
  Types types;
  types.reserve(values.size());
  for (ValueId value : values) types.push_back(fn.type(value));
  return types;
}

std::string OpView::place() const {
  std::string named = place_of_ ? place_of_(fn, id) : std::string();
  if (!named.empty()) return named;
  return op.location ? op.location->to_string() : fmt::format("{}: @{}", module.source, fn.name());
}

void OpView::fail(std::string_view fact, std::string_view remedy) const {
  if (remedy.empty()) remedy = "change the program there, or export it again";
  throw UserError(place(), fmt::format("{}: {}", name_of(op.code), fact),
                  fmt::format("{}\n  {}", remedy, print_op(module, fn, id)));
}

void OpView::require_counts(size_t operands, size_t results) const {
  require(op.operands.size() == operands && op.results.size() == results,
          "has {} operands and {} results, expected {} and {}", op.operands.size(),
          op.results.size(), operands, results);
}

void OpView::require_operands_of(unsigned elements) const {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (contains(elements, operand(i).dtype)) continue;
    fail(fmt::format("operand {} is {}, expected {}", i, operand(i), describe(elements)));
  }
}

void OpView::require_type(std::string_view what, const TensorType& found,
                          const TensorType& expected) const {
  require(found == expected, "{} is {}, expected {}", what, found, expected);
}

void OpView::require_ascending(std::string_view what, const Dims& dims) const {
  for (size_t i = 1; i < dims.size(); ++i) {
    require(dims[i - 1] < dims[i], "{} are not in ascending order", what);
  }
}

void OpView::require_region(size_t region, std::string_view what, const Types& arguments,
                            const Types& results) const {
  const BlockId block = op.regions[region];
  const auto equal = [&](const std::vector<ValueId>& values, const Types& types) {
    bool same = values.size() == types.size();
    for (size_t i = 0; same && i < types.size(); ++i) same = fn.type(values[i]) == types[i];
    return same;
  };
  const std::vector<ValueId>& taken = fn.block(block).args;
  const ValueIds& returned = fn.op(fn.terminator(block)).operands;
  if (equal(taken, arguments) && equal(returned, results)) return;
  fail(fmt::format("{} is {} -> {}, expected {} -> {}", what, list_of(types(taken)),
                   list_of(types(returned)), list_of(arguments), list_of(results)));
}

void OpView::require_reducer(size_t region, const std::vector<DType>& accumulators) const {
  Types results;
  for (DType dtype : accumulators) results.push_back({dtype, {}});
  Types arguments = results;
  arguments.insert(arguments.end(), results.begin(), results.end());
  require_region(region, "the reducer", arguments, results);
}

}  // namespace spmd::verifier
