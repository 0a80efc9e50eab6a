#include "support/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace spmd {

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += c;
    inside = letter;
  }
  return words;
}

std::string path_of(std::string_view name, std::string_view separator) {
  std::vector<std::string> words = words_of(name);
  if (words.size() > 2 && words[0] == "result") words.erase(words.begin(), words.begin() + 2);
  return fmt::format("{}", fmt::join(words, separator));
}

bool is_place_only(std::string_view name) {
  if (name == "result" || name.starts_with("result[")) name.remove_prefix(6);
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '[' || c == ']' || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace spmd
