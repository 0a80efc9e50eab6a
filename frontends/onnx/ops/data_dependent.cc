// Ops whose results have as many elements as the data decide. Shapes being static, the data must be
// known when the program is compiled, and the results are constants.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

Expr int_tensor(Node& node, Dims shape, const Dims& values) {
  return constant(node.writer(), Literal::of<int64_t>({DType::kS64, std::move(shape)}, values));
}

Expr positions(Node& node, const Dims& values) {
  return int_tensor(node, {static_cast<int64_t>(values.size())}, values);
}

void non_zero(Node& node) {
  const Literal& x = node.known(0);
  const TensorType& type = x.type();
  node.check_table(static_cast<double>(type.num_elements()));
  const int64_t rank = std::max<int64_t>(type.rank(), 1);
  std::vector<Dims> found(static_cast<size_t>(rank));
  const Dims strides = row_major_strides(type.shape);
  for (int64_t e = 0; e < type.num_elements(); ++e) {
    if (x.as_double(e) == 0) continue;
    if (type.rank() == 0) found[0].push_back(0);
    int64_t rest = e;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      found[d].push_back(rest / strides[d]);
      rest %= strides[d];
    }
  }
  const auto count = static_cast<int64_t>(found[0].size());
  Dims all;
  for (const Dims& line : found) all.insert(all.end(), line.begin(), line.end());
  node.set(0, int_tensor(node, {rank, count}, all));
}

// Which elements are kept is known; the elements themselves need not be.
void compress(Node& node) {
  Expr x = node.in(0);
  const Literal& condition = node.known(1);
  node.check_table(static_cast<double>(condition.type().num_elements()));
  int64_t dim = 0;
  if (node.has_attribute("axis")) {
    dim = node.axis(node.integer("axis"), x.rank());
  } else {
    x = reshape(x, {x.num_elements()});
  }
  Dims kept;
  for (int64_t i = 0; i < condition.type().num_elements() && i < x.dim(dim); ++i) {
    if (condition.as_int(i) != 0) kept.push_back(i);
  }
  node.set(0, take(x, positions(node, kept), dim));
}

// ---- unique

// One of the things that are compared: an element, or a slice along an axis.
using Key = std::vector<double>;

std::vector<Key> keys_of(const Literal& x, int64_t count, int64_t dim) {
  std::vector<Key> keys(static_cast<size_t>(count));
  const Dims strides = row_major_strides(x.type().shape);
  for (int64_t e = 0; e < x.type().num_elements(); ++e) {
    const int64_t at = dim < 0 ? e : e / strides[static_cast<size_t>(dim)] % x.type().dim(dim);
    keys[static_cast<size_t>(at)].push_back(x.as_double(e));
  }
  return keys;
}

void unique(Node& node) {
  const Literal x = node.known(0);
  node.check_table(static_cast<double>(x.type().num_elements()));
  Expr data = node.in(0);
  const bool along = node.has_attribute("axis");
  const int64_t dim = along ? node.axis(node.integer("axis"), data.rank()) : -1;
  if (!along) data = reshape(data, {data.num_elements()});
  const int64_t count = along ? data.dim(dim) : data.num_elements();
  const std::vector<Key> keys = keys_of(x, count, dim);
  std::map<Key, int64_t> number;  // of a key, in order of first occurrence
  Dims first, counts, inverse;
  for (int64_t i = 0; i < count; ++i) {
    const auto [found, fresh] =
        number.emplace(keys[static_cast<size_t>(i)], static_cast<int64_t>(first.size()));
    if (fresh) {
      first.push_back(i);
      counts.push_back(0);
    }
    ++counts[static_cast<size_t>(found->second)];
    inverse.push_back(found->second);
  }
  if (node.flag("sorted", true)) {
    Dims order, rank(first.size());
    for (const auto& [key, at] : number) order.push_back(at);
    Dims sorted_first, sorted_counts;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto at = static_cast<size_t>(order[i]);
      rank[at] = static_cast<int64_t>(i);
      sorted_first.push_back(first[at]);
      sorted_counts.push_back(counts[at]);
    }
    for (int64_t& i : inverse) i = rank[static_cast<size_t>(i)];
    first = sorted_first;
    counts = sorted_counts;
  }
  node.set(0, take(data, positions(node, first), std::max<int64_t>(dim, 0)));
  node.set(1, positions(node, first));
  node.set(2, positions(node, inverse));
  node.set(3, positions(node, counts));
}

// ---- non-maximum suppression

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_of(const Literal& boxes, int64_t first, bool centered) {
  const double a = boxes.as_double(first), b = boxes.as_double(first + 1),
               c = boxes.as_double(first + 2), d = boxes.as_double(first + 3);
  if (centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};  // x, y, width, height
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const double common = height * width, all = a.area() + b.area() - common;
  return all > 0 ? common / all : 0;
}

struct Suppression {
  int64_t most = 0;
  double iou = 0;
  std::optional<double> score;
  bool centered = false;
};

// Boxes chosen for one class of one batch entry, best first.
Dims chosen_boxes(const Suppression& s, const Literal& boxes, int64_t first_box,
                  const Literal& scores, int64_t first_score, int64_t count) {
  Dims order(static_cast<size_t>(count)), chosen;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores.as_double(first_score + a) > scores.as_double(first_score + b);
  });
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(chosen.size()) >= s.most) break;
    if (s.score && scores.as_double(first_score + candidate) <= *s.score) continue;
    const Box box = box_of(boxes, 4 * (first_box + candidate), s.centered);
    const bool free = std::all_of(chosen.begin(), chosen.end(), [&](int64_t other) {
      return overlap(box, box_of(boxes, 4 * (first_box + other), s.centered)) <= s.iou;
    });
    if (free) chosen.push_back(candidate);
  }
  return chosen;
}

void non_max_suppression(Node& node) {
  const Literal boxes = node.known(0), scores = node.known(1);
  node.require(boxes.type().rank() == 3 && scores.type().rank() == 3 && boxes.type().dim(2) == 4 &&
                   boxes.type().dim(0) == scores.type().dim(0) &&
                   boxes.type().dim(1) == scores.type().dim(2),
               "its boxes and scores do not fit each other");
  // Every box is compared with the ones chosen before it.
  const auto number = static_cast<double>(scores.type().num_elements());
  node.check_table(number * static_cast<double>(boxes.type().dim(1)));
  Suppression s;
  s.most = node.has(2) ? node.known_integer(2) : 0;
  s.iou = node.has(3) ? node.known_numbers(3).at(0) : 0;
  if (node.has(4)) s.score = node.known_numbers(4).at(0);
  s.centered = node.flag("center_point_box", false);
  const int64_t classes = scores.type().dim(1), count = boxes.type().dim(1);
  Dims all;
  for (int64_t b = 0; b < boxes.type().dim(0); ++b) {
    for (int64_t c = 0; c < classes; ++c) {
      for (int64_t box :
           chosen_boxes(s, boxes, b * count, scores, (b * classes + c) * count, count)) {
        all.insert(all.end(), {b, c, box});
      }
    }
  }
  node.set(0, int_tensor(node, {static_cast<int64_t>(all.size()) / 3, 3}, all));
}

}  // namespace

std::span<const OpHandler> data_dependent_ops() {
  static constexpr OpHandler kOps[] = {
      {"Compress", compress},
      {"NonMaxSuppression", non_max_suppression, Accepts::kFloats},
      {"NonZero", non_zero},
      {"Unique", unique},
  };
  return kOps;
}

}  // namespace spmd::onnx
