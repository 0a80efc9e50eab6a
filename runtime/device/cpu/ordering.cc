// sort and top_k.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/tile_io.h"

namespace spmd::cpu {
namespace {

// Sorts an index along one line of the first dimension set, then moves every operand by it.
class SortKernel : public Kernel {
 public:
  SortKernel(const plan::Sort& step, LoadContext& context)
      : comparator_(step.comparator(),
                    std::vector<bool>(static_cast<size_t>(2 * step.inputs_size())), 1, 0, context) {
    const auto dim = static_cast<int>(step.dim());
    length_ = step.shape(dim);
    for (int d = 0; d < step.shape_size(); ++d)
      if (d != dim) lines_.shape.push_back(step.shape(d));
    const auto add = [&](const plan::View& view) {
      std::vector<int64_t> strides = plan::dims_of(view.strides());
      line_strides_.push_back(strides[static_cast<size_t>(dim)]);
      strides.erase(strides.begin() + dim);
      lines_.strides.push_back(std::move(strides));
    };
    for (const plan::View& input : step.inputs()) {
      inputs_.emplace_back(input);
      add(input);
    }
    for (const plan::View& output : step.outputs()) {
      outputs_.emplace_back(output);
      add(output);
    }
    odometer_ = std::make_unique<Odometer>(lines_, lines_.rank());
    int64_t offset = comparator_.workspace_end();
    for (const BoundView& input : inputs_) {
      keys_.push_back(offset);
      offset += align(length_ * lane_bytes(lane_of(input.dtype)));
    }
    order_ = offset;
    context.need_workspace(offset + 2 * align(length_ * 8));
  }

  void run(const RunContext& context) override {
    if (length_ == 0 || lines_.count() == 0) return;
    comparator_.bind(context.workspace);
    comparator_.run_uniform(1);
    odometer_->reset();
    do {
      sort_line(context);
    } while (odometer_->next());
  }

 private:
  static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  void sort_line(const RunContext& context) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::byte* from =
          inputs_[i].data(context) + odometer_->offset(i) * inputs_[i].element_bytes;
      const int64_t step = line_strides_[i] * inputs_[i].element_bytes;
      const int64_t bytes = lane_bytes(lane_of(inputs_[i].dtype));
      for (int64_t k = 0; k < length_; ++k)
        load_element(inputs_[i].dtype, from + k * step, key(context, i, 0) + k * bytes);
    }
    auto* order = reinterpret_cast<int64_t*>(context.workspace + order_);
    std::iota(order, order + length_, 0);
    merge_sort(context, order, order + align(length_ * 8) / 8);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const size_t o = inputs_.size() + i;
      std::byte* to = outputs_[i].data(context) + odometer_->offset(o) * outputs_[i].element_bytes;
      const int64_t step = line_strides_[o] * outputs_[i].element_bytes;
      for (int64_t k = 0; k < length_; ++k)
        store_element(outputs_[i].dtype, key(context, i, order[k]), to + k * step);
    }
  }

  std::byte* key(const RunContext& context, size_t input, int64_t k) const {
    return context.workspace + keys_[input] + k * lane_bytes(lane_of(inputs_[input].dtype));
  }

  bool less(const RunContext& context, int64_t a, int64_t b) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      comparator_.set(static_cast<int32_t>(2 * i), key(context, i, a));
      comparator_.set(static_cast<int32_t>(2 * i + 1), key(context, i, b));
    }
    comparator_.run(1);
    return *static_cast<const uint8_t*>(comparator_.at(comparator_.output(0))) != 0;
  }

  // Bottom-up and stable. Unlike the library's sorts it is safe with any comparator, and takes its
  // memory from the workspace.
  void merge_sort(const RunContext& context, int64_t* order, int64_t* spare) {
    int64_t *from = order, *to = spare;
    for (int64_t width = 1; width < length_; width *= 2, std::swap(from, to))
      for (int64_t begin = 0; begin < length_; begin += 2 * width) {
        const int64_t middle = std::min(begin + width, length_);
        const int64_t end = std::min(begin + 2 * width, length_);
        int64_t a = begin, b = middle;
        for (int64_t k = begin; k < end; ++k) {
          const bool take_b = a >= middle || (b < end && less(context, from[b], from[a]));
          to[k] = take_b ? from[b++] : from[a++];
        }
      }
    if (from != order) std::copy(from, from + length_, order);
  }

  TileProgram comparator_;
  int64_t length_ = 0;
  Iteration lines_;  // operands: inputs, outputs
  std::vector<int64_t> line_strides_;
  std::vector<BoundView> inputs_, outputs_;
  std::unique_ptr<Odometer> odometer_;
  std::vector<int64_t> keys_;
  int64_t order_ = 0;
};

// As a number whose order is the element's; NaN above all.
double rank_of(Lane lane, const std::byte* element) {
  const auto as = [&](auto zero) {
    std::memcpy(&zero, element, sizeof zero);
    return static_cast<double>(zero);
  };
  switch (lane) {
    case Lane::kF32:
      return as(0.0f);
    case Lane::kF64:
      return as(0.0);
    case Lane::kS8:
      return as(int8_t{});
    case Lane::kS16:
      return as(int16_t{});
    case Lane::kS32:
      return as(int32_t{});
    case Lane::kBool:
    case Lane::kU8:
      return as(uint8_t{});
    case Lane::kU16:
      return as(uint16_t{});
    case Lane::kU32:
      return as(uint32_t{});
    default:
      return 0;
  }
}

class TopKKernel : public Kernel {
 public:
  TopKKernel(const plan::TopK& step, LoadContext& context)
      : operand_(step.operand()), values_(step.values()), indices_(step.indices()), k_(step.k()) {
    length_ = operand_.shape.back();
    lane_ = lane_of(operand_.dtype);
    lines_.shape.assign(operand_.shape.begin(), operand_.shape.end() - 1);
    for (const BoundView* view : {&operand_, &values_, &indices_})
      lines_.strides.emplace_back(view->strides.begin(), view->strides.end() - 1);
    odometer_ = std::make_unique<Odometer>(lines_, lines_.rank());
    context.need_workspace(align(length_ * 16) + align(length_ * 8) + 64);
  }

  void run(const RunContext& context) override {
    if (k_ == 0 || lines_.count() == 0) return;
    const int64_t bytes = lane_bytes(lane_);
    std::byte* lanes = context.workspace;
    auto* order = reinterpret_cast<int32_t*>(context.workspace + align(length_ * 16));
    odometer_->reset();
    do {
      const std::byte* from =
          operand_.data(context) + odometer_->offset(0) * operand_.element_bytes;
      for (int64_t i = 0; i < length_; ++i) {
        load_element(operand_.dtype, from + i * operand_.strides.back() * operand_.element_bytes,
                     lanes + i * bytes);
        order[i] = static_cast<int32_t>(i);
      }
      std::partial_sort(order, order + k_, order + length_,
                        [&](int32_t a, int32_t b) { return before(lanes, a, b); });
      write_line(context, lanes, order);
    } while (odometer_->next());
  }

 private:
  static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  bool before(const std::byte* lanes, int32_t a, int32_t b) const {
    const int64_t bytes = lane_bytes(lane_);
    if (lane_ == Lane::kS64 || lane_ == Lane::kU64) {
      uint64_t x, y;
      std::memcpy(&x, lanes + a * 8, 8);
      std::memcpy(&y, lanes + b * 8, 8);
      const uint64_t flip = lane_ == Lane::kS64 ? uint64_t{1} << 63 : 0;
      return x != y ? (x ^ flip) > (y ^ flip) : a < b;
    }
    const double x = rank_of(lane_, lanes + a * bytes), y = rank_of(lane_, lanes + b * bytes);
    const bool x_nan = std::isnan(x), y_nan = std::isnan(y);
    if (x_nan || y_nan) return x_nan && y_nan ? a < b : x_nan;
    return x != y ? x > y : a < b;
  }

  void write_line(const RunContext& context, const std::byte* lanes, const int32_t* order) {
    std::byte* values = values_.data(context) + odometer_->offset(1) * values_.element_bytes;
    std::byte* indices = indices_.data(context) + odometer_->offset(2) * 4;
    for (int64_t i = 0; i < k_; ++i) {
      store_element(values_.dtype, lanes + order[i] * lane_bytes(lane_),
                    values + i * values_.strides.back() * values_.element_bytes);
      std::memcpy(indices + i * indices_.strides.back() * 4, &order[i], 4);
    }
  }

  BoundView operand_, values_, indices_;
  int64_t k_, length_ = 0;
  Lane lane_ = Lane::kF32;
  Iteration lines_;
  std::unique_ptr<Odometer> odometer_;
};

}  // namespace

KernelPtr make_sort(const plan::Sort& step, LoadContext& context) {
  return std::make_unique<SortKernel>(step, context);
}

KernelPtr make_top_k(const plan::TopK& step, LoadContext& context) {
  return std::make_unique<TopKKernel>(step, context);
}

}  // namespace spmd::cpu
