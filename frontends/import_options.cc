#include "frontends/import_options.h"

#include <algorithm>
#include <charconv>

namespace spmd {
namespace {

// "name=rest"
std::pair<std::string, std::string_view> split(std::string_view text, const char* flag,
                                               const char* example) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw UserError(fmt::format("{} {}", flag, text), "expected NAME=VALUE",
                    fmt::format("for example: {} {}", flag, example));
  }
  return {std::string(text.substr(0, equals)), text.substr(equals + 1)};
}

// Nested lists of numbers.
class ValueText {
 public:
  ValueText(std::string_view text, std::string place) : rest_(text), place_(std::move(place)) {}

  Literal parse() {
    parse_item(0);
    if (!rest_.empty()) fail();
    const bool integral = !has_fraction_;
    const TensorType type{booleans_ ? DType::kBool : integral ? DType::kS64 : DType::kF32, shape_};
    if (type.num_elements() != static_cast<int64_t>(numbers_.size())) fail();
    Literal literal(type);
    for (size_t i = 0; i < numbers_.size(); ++i) {
      if (booleans_) literal.mutable_as<uint8_t>()[i] = numbers_[i] != 0;
      if (!booleans_ && integral) literal.mutable_as<int64_t>()[i] = integers_[i];
      if (!booleans_ && !integral) literal.mutable_as<float>()[i] = static_cast<float>(numbers_[i]);
    }
    return literal;
  }

 private:
  void parse_item(size_t depth) {
    if (depth > 8) fail();
    if (!accept('[')) return parse_number();
    if (shape_.size() <= depth) shape_.push_back(-1);
    int64_t count = 0;
    for (; !accept(']'); ++count) {
      if (count > 0 && !accept(',')) fail();
      parse_item(depth + 1);
    }
    if (shape_[depth] >= 0 && shape_[depth] != count) fail();
    shape_[depth] = count;
  }

  void parse_number() {
    for (const auto& [word, value] : {std::pair{"true", 1}, std::pair{"false", 0}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(std::string_view(word).size());
      booleans_ = true;
      numbers_.push_back(value);
      integers_.push_back(value);
      return;
    }
    double number = 0;
    int64_t integer = 0;
    const char* begin = rest_.data();
    const char* end = begin + rest_.size();
    const auto as_integer = std::from_chars(begin, end, integer);
    const auto as_number = std::from_chars(begin, end, number);
    if (as_number.ec != std::errc()) fail();
    if (as_integer.ec != std::errc() || as_integer.ptr != as_number.ptr) has_fraction_ = true;
    numbers_.push_back(number);
    integers_.push_back(integer);
    rest_.remove_prefix(static_cast<size_t>(as_number.ptr - begin));
  }

  bool accept(char c) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  [[noreturn]] void fail() {
    throw UserError(place_, "is no number and no list of numbers",
                    "for example 5, 0.5, true, [2,3] or [[1,2],[3,4]]");
  }

  std::string_view rest_;
  std::string place_;
  Dims shape_;
  std::vector<double> numbers_;
  std::vector<int64_t> integers_;
  bool has_fraction_ = false, booleans_ = false;
};

}  // namespace

void set_dim(ImportOptions& options, std::string_view text) {
  auto [name, value] = split(text, "--set-dim", "batch=8");
  const std::string place = fmt::format("--set-dim {}", text);
  const Literal literal = ValueText(value, place).parse();
  const TensorType& type = literal.type();
  Dims sizes;
  for (int64_t i = 0; i < type.num_elements(); ++i) sizes.push_back(literal.as_int(i));
  const bool valid = type.dtype == DType::kS64 && type.rank() <= 1 &&
                     std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s >= 0; });
  if (!valid) {
    throw UserError(place, "expected a size, or a list of sizes, of 0 or more",
                    "for example: --set-dim batch=8, or --set-dim 'ids=[8,128]'");
  }
  if (type.rank() == 1) {
    options.shapes[name] = sizes;
  } else {
    options.dims[name] = sizes[0];
  }
}

void set_input(ImportOptions& options, std::string_view text) {
  auto [name, value] = split(text, "--set-input", "steps=10");
  options.inputs[name] = ValueText(value, fmt::format("--set-input {}", text)).parse();
}

ImportOptions parse_import_options(const std::vector<std::string>& dims,
                                   const std::vector<std::string>& inputs) {
  ImportOptions options;
  for (const std::string& text : dims) set_dim(options, text);
  for (const std::string& text : inputs) set_input(options, text);
  return options;
}

}  // namespace spmd
