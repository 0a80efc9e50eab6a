#include "runtime/binding.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "support/error.h"

namespace spmd {
namespace {

using Words = std::vector<std::string>;

// The last `count` words as one string.
std::string suffix(const Words& words, size_t count) {
  std::string text;
  for (size_t i = words.size() - count; i < words.size(); ++i) text += words[i] + ' ';
  return text;
}

// All suffixes of some names.
class SuffixIndex {
 public:
  explicit SuffixIndex(const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      const Words words = words_of(names[i]);
      for (size_t count = 1; count <= words.size(); ++count)
        index_[suffix(words, count)].push_back(static_cast<int>(i));
    }
  }

  struct Match {
    size_t length = 0;       // words in common
    std::vector<int> names;  // those that have them
  };
  Match longest(const Words& words) const {
    for (size_t count = words.size(); count > 0; --count) {
      const auto it = index_.find(suffix(words, count));
      if (it != index_.end()) return {count, it->second};
    }
    return {};
  }

 private:
  std::unordered_map<std::string, std::vector<int>> index_;
};

// Of several tensors with the same common suffix, the one that has no other words.
int whole_name(const SuffixIndex::Match& match, const std::vector<std::string>& names,
               const Words& words) {
  int found = -1;
  for (int name : match.names) {
    const Words other = words_of(names[static_cast<size_t>(name)]);
    if (other.size() != match.length && other != words) continue;
    if (found >= 0) return -1;
    found = name;
  }
  return found;
}

std::string list(const std::vector<int>& which, const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < which.size() && i < 8; ++i)
    text += (i ? ", " : "") + names[static_cast<size_t>(which[i])];
  return which.size() > 8 ? text + ", ..." : text;
}

// Unnamed arguments take the tensors that are left.
void bind_by_position(const std::vector<std::string>& arguments, size_t num_tensors,
                      std::vector<int>& bound) {
  std::vector<bool> taken(num_tensors, false);
  for (int tensor : bound)
    if (tensor >= 0) taken[static_cast<size_t>(tensor)] = true;
  const auto unnamed = std::count(arguments.begin(), arguments.end(), "");
  if (std::count(taken.begin(), taken.end(), false) != unnamed) return;
  size_t next = 0;
  for (size_t a = 0; a < arguments.size(); ++a) {
    if (!arguments[a].empty()) continue;
    while (taken[next]) ++next;
    bound[a] = static_cast<int>(next++);
  }
}

}  // namespace

std::vector<std::string> words_of(const std::string& name) {
  Words words;
  bool inside = false;
  for (char c : name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter && !inside) words.emplace_back();
    if (letter) words.back() += c;
    inside = letter;
  }
  return words;
}

std::vector<int> bind_names(const std::vector<std::string>& arguments,
                            const std::vector<std::string>& tensors, const std::string& source) {
  const SuffixIndex by_tensor(tensors), by_argument(arguments);
  std::vector<int> bound(arguments.size(), -1);
  for (size_t a = 0; a < arguments.size(); ++a) {
    const Words words = words_of(arguments[a]);
    SuffixIndex::Match match = by_tensor.longest(words);
    // Of these, some may have more in common with another argument.
    std::erase_if(match.names, [&](int tensor) {
      return by_argument.longest(words_of(tensors[static_cast<size_t>(tensor)])).length >
             match.length;
    });
    if (match.names.empty()) continue;
    int tensor = match.names[0];
    if (match.names.size() > 1) tensor = whole_name(match, tensors, words);
    if (tensor < 0)
      throw UserError(source,
                      fmt::format("several tensors may be argument {}: {}", arguments[a],
                                  list(match.names, tensors)),
                      "name the tensors so that one of them ends like the argument");
    const std::string& name = tensors[static_cast<size_t>(tensor)];
    const SuffixIndex::Match rivals = by_argument.longest(words_of(name));
    if (rivals.names.size() > 1) {
      const int best = whole_name(rivals, arguments, words_of(name));
      if (best < 0)
        throw UserError(source,
                        fmt::format("tensor {} may be several arguments: {}", name,
                                    list(rivals.names, arguments)),
                        "name it so that it ends like one of them only");
      if (best != static_cast<int>(a)) continue;
    }
    bound[a] = tensor;
  }
  bind_by_position(arguments, tensors.size(), bound);
  return bound;
}

}  // namespace spmd
