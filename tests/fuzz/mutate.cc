#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace spmd::testing {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;

size_t below(Random& random, size_t bound) {
  return static_cast<size_t>(random.below(static_cast<int64_t>(std::max<size_t>(bound, 1))));
}

// A part of `text`, mostly short.
struct Part {
  size_t begin, size;
};
Part part_of(const std::string& text, Random& random) {
  const size_t begin = below(random, text.size() + 1);
  const size_t longest = random.chance(80) ? 16 : 1024;
  return {begin, below(random, std::min(longest, text.size() - begin) + 1)};
}

void change_byte(std::string& text, Random& random) {
  if (text.empty()) return;
  char& byte = text[below(random, text.size())];
  if (random.chance(50)) {
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
  } else {
    byte = static_cast<char>(random.below(256));
  }
}

void replace_number(std::string& text, Random& random) {
  static const std::vector<std::string> kExtremes = {"0",
                                                     "-1",
                                                     "1",
                                                     "255",
                                                     "65536",
                                                     "2147483648",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e999"};
  const size_t begin = text.find_first_of("0123456789", below(random, text.size() + 1));
  if (begin == std::string::npos) return;
  const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
  text.replace(begin, end - begin, random.of(kExtremes));
}

void change(std::string& text, std::span<const std::string> inputs,
            std::span<const std::string_view> words, Random& random) {
  const Part part = part_of(text, random);
  switch (random.below(9)) {
    case 0:
    case 1:
      return change_byte(text, random);
    case 2:
      text.erase(part.begin, part.size);
      return;
    case 3:
      text.insert(below(random, text.size() + 1), text.substr(part.begin, part.size));
      return;
    case 4: {
      const std::string& other = inputs[below(random, inputs.size())];
      const Part donor = part_of(other, random);
      text.replace(part.begin, part.size, other.substr(donor.begin, donor.size));
      return;
    }
    case 5:
      if (!words.empty()) text.insert(part.begin, words[below(random, words.size())]);
      return;
    case 6:
      if (!words.empty()) text.replace(part.begin, part.size, words[below(random, words.size())]);
      return;
    case 7:
      return replace_number(text, random);
    default:
      if (random.chance(10)) text.resize(below(random, text.size() + 1));
  }
}

}  // namespace

std::string mutate(std::span<const std::string> inputs, std::span<const std::string_view> words,
                   Random& random) {
  std::string text = inputs[below(random, inputs.size())];
  const int64_t changes = random.pick(1, random.chance(70) ? 3 : 16);
  for (int64_t i = 0; i < changes; ++i) change(text, inputs, words, random);
  if (text.size() > kMaxBytes) text.resize(kMaxBytes);
  return text;
}

}  // namespace spmd::testing
