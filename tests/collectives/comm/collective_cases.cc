#include "tests/collectives/comm/collective_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "support/float_formats.h"

namespace spmd::comm {
namespace {

// Small integers, exact in every type; differs by rank and place.
int value_of(int rank, int64_t i) { return static_cast<int>((rank * 3 + i * 5 + 1) % 4); }

// As integers of fewer bits than a byte hold it.
double wrapped(Element element, double value) {
  const auto bits = static_cast<int64_t>(value);
  switch (element) {
    case Element::kS2:
      return static_cast<double>(((bits & 3) ^ 2) - 2);
    case Element::kU2:
      return static_cast<double>(bits & 3);
    case Element::kS4:
      return static_cast<double>(((bits & 15) ^ 8) - 8);
    case Element::kU4:
      return static_cast<double>(bits & 15);
    default:
      return value;
  }
}

void store(Element element, void* base, int64_t i, double value) {
  switch (element) {
    case Element::kBool:
      static_cast<uint8_t*>(base)[i] = value != 0;
      return;
    case Element::kS2:
    case Element::kS4:
    case Element::kS8:
      static_cast<int8_t*>(base)[i] = static_cast<int8_t>(wrapped(element, value));
      return;
    case Element::kS16:
      static_cast<int16_t*>(base)[i] = static_cast<int16_t>(value);
      return;
    case Element::kS32:
      static_cast<int32_t*>(base)[i] = static_cast<int32_t>(value);
      return;
    case Element::kS64:
      static_cast<int64_t*>(base)[i] = static_cast<int64_t>(value);
      return;
    case Element::kU2:
    case Element::kU4:
    case Element::kU8:
      static_cast<uint8_t*>(base)[i] = static_cast<uint8_t>(wrapped(element, value));
      return;
    case Element::kU16:
      static_cast<uint16_t*>(base)[i] = static_cast<uint16_t>(value);
      return;
    case Element::kU32:
      static_cast<uint32_t*>(base)[i] = static_cast<uint32_t>(value);
      return;
    case Element::kU64:
      static_cast<uint64_t*>(base)[i] = static_cast<uint64_t>(value);
      return;
#define SPMD_STORE(Type, name)                                                   \
  case Element::k##Type:                                                         \
    static_cast<uint8_t*>(base)[i] = float_to_##name(static_cast<float>(value)); \
    return;
      SPMD_BYTE_FLOATS(SPMD_STORE)
#undef SPMD_STORE
    case Element::kF16:
      static_cast<uint16_t*>(base)[i] = float_to_f16(static_cast<float>(value));
      return;
    case Element::kBF16:
      static_cast<uint16_t*>(base)[i] = float_to_bf16(static_cast<float>(value));
      return;
    case Element::kF32:
      static_cast<float*>(base)[i] = static_cast<float>(value);
      return;
    case Element::kF64:
      static_cast<double*>(base)[i] = value;
      return;
    case Element::kC64:
      static_cast<float*>(base)[2 * i] = static_cast<float>(value);
      static_cast<float*>(base)[2 * i + 1] = 0;
      return;
    case Element::kC128:
      static_cast<double*>(base)[2 * i] = value;
      static_cast<double*>(base)[2 * i + 1] = 0;
      return;
  }
}

constexpr Element kElements[] = {
    Element::kBool, Element::kS4,       Element::kS8,     Element::kS16,       Element::kS32,
    Element::kS64,  Element::kU4,       Element::kU8,     Element::kU16,       Element::kU32,
    Element::kU64,  Element::kF8E4M3FN, Element::kF8E5M2, Element::kF16,       Element::kBF16,
    Element::kF32,  Element::kF64,      Element::kC64,    Element::kC128,      Element::kS2,
    Element::kU2,   Element::kF8E3M4,   Element::kF8E4M3, Element::kF8E5M2FNUZ};
constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                     Reduction::kMax, Reduction::kAnd,     Reduction::kOr};

double combine(Reduction reduction, Element element, double a, double b) {
  const bool boolean = element == Element::kBool;
  const auto ints = [&](auto f) { return static_cast<double>(f(int(a), int(b))); };
  switch (reduction) {
    case Reduction::kSum:
      return boolean ? (a != 0 || b != 0) : a + b;
    case Reduction::kProduct:
      return a * b;
    case Reduction::kMin:
      return std::fmin(a, b);
    case Reduction::kMax:
      return std::fmax(a, b);
    case Reduction::kAnd:
      return ints([](int x, int y) { return x & y; });
    case Reduction::kOr:
      return ints([](int x, int y) { return x | y; });
  }
  return 0;
}

// One group's cases.
class Cases {
 public:
  Cases(Communicator& communicator, Group& group) : c_(communicator), g_(group) {}

  std::string run() {
    for (int64_t count : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1000}, int64_t{5001}}) {
      move(count);
      for (Element element : {Element::kF32, Element::kBF16, Element::kS64}) {
        reduce(count, element, Reduction::kSum);
        if (!wrong_.empty()) return wrong_;
      }
    }
    for (Element element : kElements)
      for (Reduction reduction : kReductions)
        if (is_defined(reduction, element)) reduce(7, element, reduction);
    for (Element element : {Element::kBF16, Element::kF32, Element::kF64}) order_zeros(element);
    c_.barrier(g_, "test");
    return wrong_;
  }

 private:
  using Bytes = std::vector<std::byte>;

  int rank(int member) const { return g_.members()[static_cast<size_t>(member)]; }
  Bytes make(Element element, int64_t count) const {
    return Bytes(static_cast<size_t>(count * byte_size(element)), std::byte{0xee});
  }
  void compare(const Bytes& got, const Bytes& want, const std::string& what) {
    if (wrong_.empty() && got != want)
      wrong_ = fmt::format("rank {}, group of {}: {}", c_.rank(), g_.size(), what);
  }

  void move(int64_t count) {
    const Element element = Element::kS32;
    const int n = g_.size();
    const int64_t bytes = count * 4;
    Bytes in = make(element, count), out = make(element, count * n), want = out;
    for (int64_t i = 0; i < count; ++i) store(element, in.data(), i, value_of(c_.rank(), i));
    for (int m = 0; m < n; ++m)
      for (int64_t i = 0; i < count; ++i)
        store(element, want.data(), m * count + i, value_of(rank(m), i));
    c_.all_gather(g_, in.data(), out.data(), bytes, "test");
    compare(out, want, fmt::format("all_gather of {}", count));
    Bytes root = make(element, count * n);
    c_.gather(g_, in.data(), root.data(), bytes, n - 1, "test");
    if (g_.index() == n - 1) compare(root, want, fmt::format("gather of {}", count));
    exchange(count);
    // A ring, without the edge from the last to the first.
    Bytes from = make(element, count), expected = from;
    const int source = g_.index() - 1, target = g_.index() + 1 < n ? g_.index() + 1 : -1;
    if (source >= 0)
      for (int64_t i = 0; i < count; ++i)
        store(element, expected.data(), i, value_of(rank(source), i));
    c_.permute(g_, in.data(), from.data(), bytes, source, target, "test");
    compare(from, expected, fmt::format("permute of {}", count));
  }

  void exchange(int64_t count) {
    const Element element = Element::kS32;
    const int n = g_.size();
    Bytes in = make(element, count * n), out = in, want = in;
    for (int m = 0; m < n; ++m)
      for (int64_t i = 0; i < count; ++i) {
        store(element, in.data(), m * count + i, c_.rank() * 100 + rank(m));
        store(element, want.data(), m * count + i, rank(m) * 100 + c_.rank());
      }
    c_.all_to_all(g_, in.data(), out.data(), count * 4, "test");
    compare(out, want, fmt::format("all_to_all of {}", count));
  }

  double reduced(Element element, Reduction reduction, int64_t i) const {
    const auto value = [&](int member) {
      const double v = wrapped(element, value_of(rank(member), i));
      return element == Element::kBool ? double(v != 0) : v;
    };
    double result = value(0);
    for (int m = 1; m < g_.size(); ++m) result = combine(reduction, element, result, value(m));
    return wrapped(element, result);
  }

  void reduce(int64_t count, Element element, Reduction reduction) {
    const std::string what =
        fmt::format("of {} elements {} by {}", count, int(element), int(reduction));
    Bytes in = make(element, count), want = in;
    for (int64_t i = 0; i < count; ++i) {
      store(element, in.data(), i, value_of(c_.rank(), i));
      store(element, want.data(), i, reduced(element, reduction, i));
    }
    Bytes out = make(element, count);
    c_.all_reduce(g_, in.data(), out.data(), count, element, reduction, "test");
    compare(out, want, "all_reduce " + what);
    c_.all_reduce(g_, in.data(), in.data(), count, element, reduction, "test");
    compare(in, want, "all_reduce in place " + what);

    const int64_t n = g_.size();
    Bytes blocks = make(element, count * n), mine = make(element, count), expected = mine;
    for (int64_t i = 0; i < count * n; ++i)
      store(element, blocks.data(), i, value_of(c_.rank(), i));
    for (int64_t i = 0; i < count; ++i)
      store(element, expected.data(), i, reduced(element, reduction, g_.index() * count + i));
    c_.reduce_scatter(g_, blocks.data(), mine.data(), count, element, reduction, "test");
    compare(mine, expected, "reduce_scatter " + what);
  }

  // -0 is less than +0, whichever rank has it.
  void order_zeros(Element element) {
    const int64_t n = g_.size();
    Bytes in = make(element, n), least = in, greatest = in;
    for (int64_t i = 0; i < n; ++i) {
      store(element, in.data(), i, i == g_.index() ? -0.0 : 0.0);
      store(element, least.data(), i, -0.0);
      store(element, greatest.data(), i, n == 1 ? -0.0 : 0.0);
    }
    Bytes out = make(element, n);
    c_.all_reduce(g_, in.data(), out.data(), n, element, Reduction::kMin, "test");
    compare(out, least, "all_reduce of zeros by minimum");
    c_.all_reduce(g_, in.data(), out.data(), n, element, Reduction::kMax, "test");
    compare(out, greatest, "all_reduce of zeros by maximum");
  }

  Communicator& c_;
  Group& g_;
  std::string wrong_;
};

// Members of this rank's group when ranks are split by `key`.
template <typename Key>
std::vector<int> split(int size, int rank, Key key) {
  std::vector<int> members;
  for (int r = 0; r < size; ++r)
    if (key(r) == key(rank)) members.push_back(r);
  return members;
}

// A group that two ranks make alone, and then once more while the others make theirs: the two have
// it already.
std::string check_groups_of_some(Communicator& c) {
  std::string wrong = Cases(c, c.world()).run();
  if (wrong.empty() && c.rank() < 2 && c.size() >= 2) wrong = Cases(c, c.group({0, 1})).run();
  if (!wrong.empty()) return wrong;
  return Cases(c, c.group(split(c.size(), c.rank(), [](int r) { return r / 2; }))).run();
}

}  // namespace

std::string check_collectives(Communicator& c) {
  const std::string wrong = check_groups_of_some(c);
  if (!wrong.empty()) return wrong;
  std::vector<std::vector<int>> groups;
  groups.push_back(split(c.size(), c.rank(), [](int) { return 0; }));
  groups.emplace_back(groups[0].rbegin(), groups[0].rend());  // another order of members
  groups.push_back(split(c.size(), c.rank(), [](int r) { return r % 2; }));
  groups.push_back(split(c.size(), c.rank(), [](int r) { return r / 2; }));
  groups.push_back({c.rank()});
  for (const std::vector<int>& members : groups) {
    const std::string wrong = Cases(c, c.group(members)).run();
    if (!wrong.empty()) return wrong;
  }
  for (int root : {0, c.size() - 1}) {
    for (size_t length : {size_t{0}, size_t{5}, size_t{100'000}}) {
      std::string text = c.rank() == root ? std::string(length, 'x') : "other";
      c.broadcast(text, root, "test");
      if (text != std::string(length, 'x')) return fmt::format("broadcast of {} bytes", length);
    }
  }
  return "";
}

uint64_t reduction_fingerprint(Communicator& c) {
  uint64_t hash = 1469598103934665603u;
  for (Element element : {Element::kF32, Element::kBF16, Element::kF16})
    for (int64_t count : {int64_t{100}, int64_t{20'000}}) {
      std::vector<std::byte> data(static_cast<size_t>(count * byte_size(element)));
      for (int64_t i = 0; i < count; ++i)
        store(element, data.data(), i, std::sin(double(i * 7 + c.rank() * 13)) * 3);
      c.all_reduce(c.world(), data.data(), data.data(), count, element, Reduction::kSum, "test");
      for (std::byte byte : data) hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
    }
  return hash;
}

}  // namespace spmd::comm
