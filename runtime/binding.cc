#include "runtime/binding.h"

#include <algorithm>
#include <unordered_map>

#include "support/error.h"
#include "support/names.h"

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

// What is left once names have been compared: arguments whose names tell their place only, and
// tensors that no argument has taken.
class Remainder {
 public:
  Remainder(const std::vector<std::string>& arguments, size_t num_tensors, NameBinding& binding)
      : binding_(binding), taken_(num_tensors, false) {
    for (size_t a = 0; a < arguments.size(); ++a) {
      const int tensor = binding.tensors[a];
      if (tensor >= 0) taken_[static_cast<size_t>(tensor)] = true;
      if (tensor < 0 && is_place_only(arguments[a])) arguments_.push_back(a);
    }
  }

  void bind_by_type(const Fits& fits) {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t a : arguments_) {
      const std::vector<size_t> tensors = free_tensors([&](size_t t) { return fits(a, t); });
      if (tensors.size() != 1) continue;
      const auto rivals = std::count_if(arguments_.begin(), arguments_.end(),
                                        [&](size_t other) { return fits(other, tensors[0]); });
      if (rivals == 1) pairs.emplace_back(a, tensors[0]);
    }
    for (const auto& [argument, tensor] : pairs) bind(argument, tensor);
    std::erase_if(arguments_, [&](size_t a) { return binding_.tensors[a] >= 0; });
  }

  void bind_in_order() {
    const std::vector<size_t> tensors = free_tensors([](size_t) { return true; });
    if (tensors.size() != arguments_.size()) return;
    for (size_t i = 0; i < tensors.size(); ++i) {
      bind(arguments_[i], tensors[i]);
      binding_.guessed.push_back(static_cast<int>(arguments_[i]));
    }
  }

 private:
  template <typename Wanted>
  std::vector<size_t> free_tensors(Wanted wanted) const {
    std::vector<size_t> tensors;
    for (size_t t = 0; t < taken_.size(); ++t)
      if (!taken_[t] && wanted(t)) tensors.push_back(t);
    return tensors;
  }
  void bind(size_t argument, size_t tensor) {
    binding_.tensors[argument] = static_cast<int>(tensor);
    taken_[tensor] = true;
  }

  NameBinding& binding_;
  std::vector<bool> taken_;
  std::vector<size_t> arguments_;
};

}  // namespace

NameBinding bind_names(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& tensors, const std::string& source,
                       const Fits& fits) {
  const SuffixIndex by_tensor(tensors), by_argument(arguments);
  NameBinding binding{std::vector<int>(arguments.size(), -1), {}};
  std::vector<int>& bound = binding.tensors;
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
  Remainder remainder(arguments, tensors.size(), binding);
  if (fits) remainder.bind_by_type(fits);
  remainder.bind_in_order();
  return binding;
}

}  // namespace spmd
