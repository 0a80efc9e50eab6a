#include "passes/equivalence/random_inputs.h"

#include <cmath>

namespace spmd {
namespace {

// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t bound) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

// A word of the name says that the argument averages squares: its root is taken.
bool is_second_moment(const std::string& name) {
  std::string word;
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    if (word == "nu" || word == "v" || word == "var" || word == "variance") return true;
    word.clear();
  }
  return false;
}

// An argument without a name goes by that of the result that replaces it.
const std::string& name_or_that_of_result(const Function& main, size_t number) {
  const ArgumentInfo& info = main.argument_info[number];
  if (!info.name.empty() || info.aliased_result < 0) return info.name;
  return main.result_info[static_cast<size_t>(info.aliased_result)].name;
}

double draw_for_program(Random& random, DType dtype, bool positive) {
  if (is_integer(dtype)) return static_cast<double>(random.below(4));
  const double value = static_cast<double>(random.below(9) - 4) / 4;
  return positive ? std::abs(value) : value;
}

double draw_whole(Random& random, DType dtype) {
  if (!is_integer(dtype)) return static_cast<double>(random.below(7) - 3);
  const int64_t most = bit_width(dtype) == 4 ? 7 : 14;
  if (random.below(5) != 0) return static_cast<double>(random.below(6));
  return static_cast<double>(is_unsigned_int(dtype) ? random.below(most + 1)
                                                    : random.below(most + 4) - 3);
}

double draw(Random& random, DType dtype, InputStyle style, bool positive) {
  if (dtype == DType::kBool) return static_cast<double>(random.below(2));
  if (style == InputStyle::kProgram) return draw_for_program(random, dtype, positive);
  if (style == InputStyle::kWhole || is_integer(dtype)) return draw_whole(random, dtype);
  constexpr int64_t kSteps = int64_t{1} << 40;
  return 4.0 * static_cast<double>(random.below(kSteps)) / static_cast<double>(kSteps) - 2.0;
}

}  // namespace

std::vector<Literal> random_inputs(const Module& module, uint64_t seed, InputStyle style) {
  Random random(seed);
  const Function& main = module.main();
  std::vector<Literal> inputs;
  for (size_t i = 0; i < main.arguments().size(); ++i) {
    const TensorType& type = main.type(main.arguments()[i]);
    const bool positive = is_second_moment(name_or_that_of_result(main, i));
    Literal literal(type);
    std::byte* out = literal.mutable_data();
    const auto size = static_cast<size_t>(byte_size(type.dtype));
    for (int64_t e = 0; e < type.num_elements(); ++e, out += size) {
      const Literal element =
          Literal::splat({type.dtype, {}}, draw(random, type.dtype, style, positive));
      std::memcpy(out, element.data(), size);
    }
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

}  // namespace spmd
