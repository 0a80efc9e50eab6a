#include "frontends/vhlo/open_sizes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "frontends/at_place.h"
#include "support/error.h"
#include "support/scanner.h"
#include "support/strings.h"

namespace spmd::vhlo {
namespace {

using Sizes = std::map<std::string, int64_t, std::less<>>;

constexpr int kMaxExpressionDepth = 64;
constexpr int64_t kMaxSize = int64_t{1} << 40;

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Sums of products of powers of numbers, names, parentheses and calls.
class DimExpression {
 public:
  DimExpression(std::string_view text, const Sizes& dims, std::vector<std::string>& missing)
      : text_(text), rest_(text), dims_(dims), missing_(missing) {}

  int64_t evaluate() {
    const int64_t value = sum();
    skip();
    if (!rest_.empty()) fail();
    return value;
  }

 private:
  int64_t sum() {
    if (++depth_ > kMaxExpressionDepth) fail();
    int64_t value = accept('-') ? -product() : product();
    while (true) {
      if (accept('+')) {
        value = checked(value + product());
      } else if (accept('-')) {
        value = checked(value - product());
      } else {
        --depth_;
        return value;
      }
    }
  }

  int64_t product() {
    int64_t value = power();
    while (accept('*')) value = times(value, power());
    return value;
  }

  int64_t power() {
    const int64_t base = atom();
    if (!accept('^')) return base;
    int64_t exponent = number(), value = 1;
    if (exponent > 64) fail();
    for (; exponent > 0; --exponent) value = times(value, base);
    return value;
  }

  int64_t atom() {
    skip();
    if (accept('(')) {
      const int64_t value = sum();
      expect(')');
      return value;
    }
    if (rest_.empty()) fail();
    if (!is_name_start(rest_[0])) return number();
    size_t end = 0;
    while (end < rest_.size() && is_name_part(rest_[end])) ++end;
    const std::string name(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return accept('(') ? call(name) : size_of(name);
  }

  int64_t call(const std::string& name) {
    const int64_t a = sum();
    expect(',');
    const int64_t b = sum();
    expect(')');
    if (name == "max") return std::max(a, b);
    if (name == "min") return std::min(a, b);
    if ((name != "floordiv" && name != "mod") || b == 0) fail();
    const int64_t remainder = ((a % b) + b) % b;  // of the sign of a positive b
    return name == "mod" ? remainder : (a - remainder) / b;
  }

  int64_t size_of(const std::string& name) {
    const auto found = dims_.find(name);
    if (found != dims_.end()) return found->second;
    if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) {
      missing_.push_back(name);
    }
    return 1;
  }

  int64_t number() {
    skip();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return checked(value);
  }

  int64_t times(int64_t a, int64_t b) {
    if (a != 0 && std::abs(b) > kMaxSize / std::abs(a)) fail();
    return a * b;
  }
  int64_t checked(int64_t value) {
    if (std::abs(value) > kMaxSize) fail();
    return value;
  }
  void skip() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  [[noreturn]] void fail() {
    throw UserError({}, fmt::format("the size \"{}\" has no value", escape(text_)),
                    "give the argument's whole shape: --set-dim 'NAME=[SIZE,SIZE]'");
  }

  std::string_view text_, rest_;
  const Sizes& dims_;
  std::vector<std::string>& missing_;
  int depth_ = 0;
};

std::string dim_name(const OpenArgument& argument, size_t d) {
  return fmt::format("{}[{}]", argument.name, d);
}

const std::string* text_of(const OpenArgument& argument, size_t d) {
  return d < argument.texts.size() && !argument.texts[d].empty() ? &argument.texts[d] : nullptr;
}

// Names in texts get their sizes from whole shapes too.
Sizes given_sizes(const std::vector<OpenArgument>& arguments, const ImportOptions& options,
                  const std::string& source) {
  Sizes dims = options.dims;
  for (const OpenArgument& argument : arguments) {
    const auto shape = options.shapes.find(argument.name);
    if (shape == options.shapes.end()) continue;
    if (shape->second.size() != argument.shape.size()) {
      throw UserError(source,
                      fmt::format("{} has {} dimensions, the shape given for it {}", argument.name,
                                  argument.shape.size(), shape->second.size()));
    }
    for (size_t d = 0; d < shape->second.size(); ++d) {
      if (argument.shape[d] != kDynamic && argument.shape[d] != shape->second[d]) {
        throw UserError(source,
                        fmt::format("{} is {} in the program, the shape given says {}",
                                    dim_name(argument, d), argument.shape[d], shape->second[d]));
      }
      const std::string* text = text_of(argument, d);
      const bool is_name = text != nullptr && is_name_start((*text)[0]) &&
                           std::all_of(text->begin(), text->end(), is_name_part);
      if (is_name) dims.emplace(*text, shape->second[d]);
      dims.emplace(dim_name(argument, d), shape->second[d]);
    }
  }
  return dims;
}

// A misspelt name would otherwise have no effect.
void check_given(const std::vector<std::string>& known, const std::vector<std::string>& names,
                 const ImportOptions& options, const std::string& source) {
  const auto check = [&](const std::string& name, const std::vector<std::string>& list,
                         const char* what) {
    if (std::find(list.begin(), list.end(), name) != list.end()) return;
    const auto near = nearest(name, list);
    throw UserError(source, fmt::format("has no open {} {}", what, name),
                    near ? fmt::format("did you mean {}?", *near) : "");
  };
  for (const auto& [name, size] : options.dims) check(name, known, "dimension");
  for (const auto& [name, shape] : options.shapes) check(name, names, "argument");
}

}  // namespace

int64_t evaluate_dim(std::string_view text, const Sizes& dims, std::vector<std::string>& missing) {
  std::vector<std::string> unknown;
  const int64_t value = DimExpression(text, dims, unknown).evaluate();
  if (value < 0 && unknown.empty()) {
    throw UserError({}, fmt::format("the size \"{}\" becomes {}", escape(text), value),
                    "give its names other sizes");
  }
  for (std::string& name : unknown) {
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) {
      missing.push_back(std::move(name));
    }
  }
  return value;
}

void close_sizes(std::vector<OpenArgument>& arguments, const ImportOptions& options,
                 const std::string& source) {
  std::vector<std::string> missing, known, names;
  const Sizes dims = given_sizes(arguments, options, source);
  const auto value = [&](const std::string& name, std::string_view text, const Sizes& sizes,
                         std::vector<std::string>& unknown) {
    return at_place(
        source, [&] { return at_place(name, [&] { return evaluate_dim(text, sizes, unknown); }); });
  };
  for (OpenArgument& argument : arguments) {
    names.push_back(argument.name);
    for (size_t d = 0; d < argument.shape.size(); ++d) {
      if (argument.shape[d] != kDynamic) continue;
      const std::string name = dim_name(argument, d);
      const std::string* text = text_of(argument, d);
      known.push_back(name);
      if (text != nullptr) value(name, *text, {}, known);  // lists its names
      const auto given = dims.find(name);
      if (given != dims.end()) {
        argument.shape[d] = given->second;
      } else {
        argument.shape[d] = text != nullptr ? value(name, *text, dims, missing) : 1;
      }
      if (given == dims.end() && text == nullptr) missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    std::string list, flags;
    for (const std::string& name : missing) {
      list += (list.empty() ? "" : ", ") + name;
      flags += fmt::format(" --set-dim '{}=SIZE'", name);
    }
    throw UserError(source,
                    fmt::format("{} dimension{} no size: {}", missing.size(),
                                missing.size() == 1 ? " has" : "s have", list),
                    fmt::format("give every one a size:{}", flags));
  }
  check_given(known, names, options, source);
}

}  // namespace spmd::vhlo
