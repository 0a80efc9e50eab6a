// attention and attention_backward, a head at a time in float32, for Plans whose attention steps
// have no kernel where they run. What is compiled for a CPU has no such steps
// (passes/expand_attention.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/tile_io.h"

namespace spmd::cpu {
namespace {

struct HeadPlace {
  int64_t batch, head, group;
};

// The vectors of a head: a matrix whose rows are positions.
class HeadRows {
 public:
  // `is_statistics`: of [batch, head, group, position], else [batch, position, head, group, size]
  // without groups where it has four dimensions.
  explicit HeadRows(const plan::View& view, bool is_statistics = false) : view_(view) {
    const std::vector<int64_t>& s = view_.strides;
    if (is_statistics) {
      strides_ = {s[0], s[3], s[1], s[2], 0};
      rows = view_.shape[3];
    } else {
      const bool has_groups = s.size() == 5;
      strides_ = {s[0], s[1], s[2], has_groups ? s[3] : 0, s.back()};
      rows = view_.shape[1];
      size = view_.shape.back();
    }
  }

  void load(const RunContext& context, const HeadPlace& place, float* to) const {
    each(context, place, [&](std::byte* at) { load_element(view_.dtype, at, to++); });
  }
  void store(const RunContext& context, const HeadPlace& place, const float* from) const {
    each(context, place, [&](std::byte* at) { store_element(view_.dtype, from++, at); });
  }
  int64_t numbers() const { return rows * size; }

  int64_t rows = 0, size = 1;

 private:
  template <typename Visit>
  void each(const RunContext& context, const HeadPlace& place, const Visit& visit) const {
    const int64_t begin =
        place.batch * strides_[0] + place.head * strides_[2] + place.group * strides_[3];
    std::byte* const data = view_.data(context);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < size; ++i)
        visit(data + (begin + row * strides_[1] + i * strides_[4]) * view_.element_bytes);
  }

  BoundView view_;
  std::vector<int64_t> strides_;  // batch, position, head, group, size
};

float dot(const float* a, const float* b, int64_t size) {
  float sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

void add_multiple(float factor, const float* from, int64_t size, float* to) {
  for (int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
}

// What both passes read.
class AttentionLoops : public Kernel {
 protected:
  template <typename Step>
  explicit AttentionLoops(const Step& step)
      : query_(step.query()),
        key_(step.key()),
        value_(step.value()),
        output_(step.output()),
        statistics_(step.statistics(), true),
        scale_(static_cast<float>(step.scale())),
        causal_(step.causal()),
        batch_(step.query().shape(0)),
        heads_(step.query().shape(2)),
        groups_(step.query().shape(3)) {}

  // Keys that a query sees.
  int64_t seen(int64_t query) const { return causal_ ? std::min(key_.rows, query + 1) : key_.rows; }

  HeadRows query_, key_, value_, output_, statistics_;
  float scale_;
  bool causal_;
  int64_t batch_, heads_, groups_;
};

// Pieces of the workspace, in turn.
class Floats {
 public:
  explicit Floats(const RunContext& context) : next_(reinterpret_cast<float*>(context.workspace)) {}
  float* take(int64_t count) { return std::exchange(next_, next_ + count); }

 private:
  float* next_;
};

class AttentionForward : public AttentionLoops {
 public:
  AttentionForward(const plan::Attention& step, LoadContext& context) : AttentionLoops(step) {
    context.need_workspace((query_.numbers() + key_.numbers() + value_.numbers() +
                            output_.numbers() + statistics_.numbers() + key_.rows) *
                           static_cast<int64_t>(sizeof(float)));
  }

  void run(const RunContext& context) override {
    Floats floats(context);
    float *const query = floats.take(query_.numbers()), *const key = floats.take(key_.numbers()),
                 *const value = floats.take(value_.numbers()),
                 *const output = floats.take(output_.numbers()),
                 *const statistics = floats.take(statistics_.numbers()),
                 *const weights = floats.take(key_.rows);
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t h = 0; h < heads_; ++h) {
        key_.load(context, {b, h, 0}, key);
        value_.load(context, {b, h, 0}, value);
        for (int64_t g = 0; g < groups_; ++g) {
          query_.load(context, {b, h, g}, query);
          for (int64_t t = 0; t < query_.rows; ++t)
            statistics[t] = row(query + t * query_.size, key, value, seen(t), weights,
                                output + t * output_.size);
          output_.store(context, {b, h, g}, output);
          statistics_.store(context, {b, h, g}, statistics);
        }
      }
    }
  }

 private:
  // One query's output; returns its statistic.
  float row(const float* query, const float* key, const float* value, int64_t keys, float* weights,
            float* output) const {
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t s = 0; s < keys; ++s) {
      weights[s] = dot(query, key + s * key_.size, key_.size) * scale_;
      largest = std::max(largest, weights[s]);
    }
    std::fill_n(output, output_.size, 0.0F);
    for (int64_t s = 0; s < keys; ++s) {
      const float weight = std::exp(weights[s] - largest);
      sum += weight;
      add_multiple(weight, value + s * value_.size, value_.size, output);
    }
    for (int64_t i = 0; i < output_.size; ++i) output[i] /= sum;
    return largest + std::log(sum);
  }
};

class AttentionGradients : public AttentionLoops {
 public:
  AttentionGradients(const plan::AttentionBackward& step, LoadContext& context)
      : AttentionLoops(step),
        d_output_(step.d_output()),
        d_query_(step.d_query()),
        d_key_(step.d_key()),
        d_value_(step.d_value()) {
    context.need_workspace(2 *
                           (query_.numbers() + key_.numbers() + value_.numbers() +
                            output_.numbers() + statistics_.numbers()) *
                           static_cast<int64_t>(sizeof(float)));
  }

  void run(const RunContext& context) override {
    Floats floats(context);
    Head n{floats.take(query_.numbers()),  floats.take(key_.numbers()),
           floats.take(value_.numbers()),  floats.take(output_.numbers()),
           floats.take(output_.numbers()), floats.take(statistics_.numbers()),
           floats.take(query_.numbers()),  floats.take(key_.numbers()),
           floats.take(value_.numbers())};
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t h = 0; h < heads_; ++h) {
        key_.load(context, {b, h, 0}, n.key);
        value_.load(context, {b, h, 0}, n.value);
        std::fill_n(n.d_key, key_.numbers(), 0.0F);
        std::fill_n(n.d_value, value_.numbers(), 0.0F);
        for (int64_t g = 0; g < groups_; ++g) {
          query_.load(context, {b, h, g}, n.query);
          output_.load(context, {b, h, g}, n.output);
          d_output_.load(context, {b, h, g}, n.d_output);
          statistics_.load(context, {b, h, g}, n.statistics);
          std::fill_n(n.d_query, query_.numbers(), 0.0F);
          for (int64_t t = 0; t < query_.rows; ++t) row(n, t);
          d_query_.store(context, {b, h, g}, n.d_query);
        }
        d_key_.store(context, {b, h, 0}, n.d_key);
        d_value_.store(context, {b, h, 0}, n.d_value);
      }
    }
  }

 private:
  struct Head {
    float *query, *key, *value, *output, *d_output, *statistics, *d_query, *d_key, *d_value;
  };

  // What query `t` adds to the gradients: ir/eval/attention.cc.
  void row(const Head& n, int64_t t) const {
    const int64_t size = query_.size, width = value_.size;
    const float *const query = n.query + t * size, *const d_output = n.d_output + t * width;
    const float mean = dot(n.output + t * width, d_output, width);
    for (int64_t s = 0; s < seen(t); ++s) {
      const float *const key = n.key + s * size, *const value = n.value + s * width;
      const float p = std::exp(dot(query, key, size) * scale_ - n.statistics[t]);
      const float d_score = p * (dot(d_output, value, width) - mean) * scale_;
      add_multiple(d_score, key, size, n.d_query + t * size);
      add_multiple(d_score, query, size, n.d_key + s * size);
      add_multiple(p, d_output, width, n.d_value + s * width);
    }
  }

  HeadRows d_output_, d_query_, d_key_, d_value_;
};

}  // namespace

KernelPtr make_attention(const plan::Attention& step, LoadContext& context) {
  return std::make_unique<AttentionForward>(step, context);
}

KernelPtr make_attention_backward(const plan::AttentionBackward& step, LoadContext& context) {
  return std::make_unique<AttentionGradients>(step, context);
}

}  // namespace spmd::cpu
