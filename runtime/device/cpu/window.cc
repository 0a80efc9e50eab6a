// reduce_window and select_and_scatter. Work goes along lines: a dimension that windows pass
// through unchanged (channels, batch), when there is one.
#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/cumulative.h"
#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/plan/reducer.h"

namespace spmd::cpu {
namespace {

using Dims = std::vector<int64_t>;

struct WindowDims {
  explicit WindowDims(const plan::Window& window)
      : size(plan::dims_of(window.size())),
        stride(plan::dims_of(window.stride())),
        base_dilation(plan::dims_of(window.base_dilation())),
        dilation(plan::dims_of(window.window_dilation())),
        pad_low(plan::dims_of(window.pad_low())),
        pad_high(plan::dims_of(window.pad_high())) {}

  bool passes_through(size_t d) const {
    return size[d] == 1 && stride[d] == 1 && base_dilation[d] == 1 && pad_low[d] == 0 &&
           pad_high[d] == 0;
  }
  Dims size, stride, base_dilation, dilation, pad_low, pad_high;
};

// Visits, for every position of the window, the elements of the base that it covers.
class WindowWalk {
 public:
  // `base`: the tensor that windows lie on; `positions`: how many there are per dimension.
  WindowWalk(const WindowDims& window, Dims base, Dims positions)
      : window_(window), base_(std::move(base)), positions_(std::move(positions)) {
    for (size_t d = 0; d < base_.size(); ++d)
      if (window_.passes_through(d) && base_[d] == positions_[d] &&
          (line_ < 0 || base_[d] > base_[static_cast<size_t>(line_)]))
        line_ = static_cast<int>(d);
    if (line_ >= 0) {
      length_ = positions_[static_cast<size_t>(line_)];
      positions_[static_cast<size_t>(line_)] = 1;
    }
    position_.assign(base_.size(), 0);
    tap_.assign(base_.size(), 0);
    element_.assign(base_.size(), 0);
  }

  // The dimension of lines, or -1: then lines have one element.
  int line() const { return line_; }
  int64_t length() const { return length_; }
  const Dims& position() const { return position_; }
  const Dims& element() const { return element_; }

  void first_position() { std::fill(position_.begin(), position_.end(), 0); }
  bool next_position() { return advance(position_, positions_); }

  // The first element of the base under the window, or a later one. False when there is none.
  bool first_element() {
    std::fill(tap_.begin(), tap_.end(), 0);
    return locate() || next_element();
  }
  bool next_element() {
    while (advance(tap_, window_.size))
      if (locate()) return true;
    return false;
  }

 private:
  static bool advance(Dims& index, const Dims& shape) {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) return true;
      index[d] = 0;
    }
    return false;
  }
  bool locate() {
    for (size_t d = 0; d < base_.size(); ++d) {
      const int64_t at =
          position_[d] * window_.stride[d] + tap_[d] * window_.dilation[d] - window_.pad_low[d];
      if (at < 0 || at % window_.base_dilation[d] != 0) return false;
      element_[d] = at / window_.base_dilation[d];
      if (element_[d] >= base_[d]) return false;
    }
    return true;
  }

  WindowDims window_;
  Dims base_, positions_;
  int line_ = -1;
  int64_t length_ = 1;
  Dims position_, tap_, element_;
};

int64_t offset_of(const Dims& index, const BoundView& view) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
  return offset * view.element_bytes;
}

TileStrides along(int line, const BoundView& view) {
  return {0, line < 0 ? 1 : view.strides[static_cast<size_t>(line)]};
}

class ReduceWindowKernel : public Kernel {
 public:
  ReduceWindowKernel(const plan::ReduceWindow& step, LoadContext& context)
      : walk_(WindowDims(step.window()), plan::dims_of(step.inputs(0).shape()),
              plan::dims_of(step.outputs(0).shape())),
        tile_(std::min(kTile, walk_.length())),
        program_(plan::accumulating_program(step.op(), step.program(), step.inputs(0).dtype()),
                 std::vector<bool>(static_cast<size_t>(2 * step.inputs_size())), tile_, 0,
                 context) {
    int64_t workspace = program_.workspace_end();
    for (int i = 0; i < step.inputs_size(); ++i) {
      inputs_.emplace_back(step.inputs(i));
      inits_.emplace_back(step.inits(i));
      outputs_.emplace_back(step.outputs(i));
      loads_.emplace_back(inputs_.back().dtype, along(walk_.line(), inputs_.back()), workspace);
      stores_.emplace_back(outputs_.back().dtype, along(walk_.line(), outputs_.back()), workspace);
    }
    scratch_ = workspace;
    context.need_workspace(workspace + kTile * 16);
  }

  void run(const RunContext& context) override {
    program_.bind(context.workspace);
    program_.run_uniform(tile_);
    walk_.first_position();
    do {
      for (int64_t begin = 0; begin < walk_.length(); begin += tile_)
        run_line(context, begin, std::min(tile_, walk_.length() - begin));
    } while (walk_.next_position());
  }

 private:
  void run_line(const RunContext& context, int64_t begin, int64_t n) {
    const auto count = static_cast<int32_t>(inputs_.size());
    std::byte* scratch = context.workspace + scratch_;
    for (int32_t i = 0; i < count; ++i) {
      const auto o = static_cast<size_t>(i);
      std::byte* accumulator = context.workspace + stores_[o].slot();
      load_element(inits_[o].dtype, inits_[o].data(context), accumulator);
      broadcast_element(accumulator, lane_bytes(lane_of(inits_[o].dtype)), n);
      program_.set(i, accumulator);
    }
    const bool in_place = count == 1 && program_.can_redirect(0);
    if (in_place) program_.set(program_.output(0), program_.at(0));
    for (bool more = walk_.first_element(); more; more = walk_.next_element()) {
      for (int32_t i = 0; i < count; ++i) {
        const auto o = static_cast<size_t>(i);
        const std::byte* from = inputs_[o].data(context) + offset_of(walk_.element(), inputs_[o]) +
                                begin * loads_[o].strides().column * inputs_[o].element_bytes;
        std::byte* slot = context.workspace + loads_[o].slot();
        const bool direct = loads_[o].is_direct(1, n);
        if (!direct) loads_[o].load(from, slot, scratch, 1, n);
        program_.set(count + i, direct ? from : slot);
      }
      program_.run(n);
      if (!in_place) keep(n);
    }
    for (size_t o = 0; o < outputs_.size(); ++o)
      stores_[o].store(program_.at(static_cast<int32_t>(o)),
                       outputs_[o].data(context) + offset_of(walk_.position(), outputs_[o]) +
                           begin * stores_[o].strides().column * outputs_[o].element_bytes,
                       scratch, 1, n);
  }

  void keep(int64_t n) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* accumulator = program_.at(static_cast<int32_t>(i));
      const void* result = program_.at(program_.output(static_cast<int>(i)));
      if (accumulator != result)
        std::memcpy(accumulator, result,
                    static_cast<size_t>(n * lane_bytes(lane_of(inputs_[i].dtype))));
    }
  }

  WindowWalk walk_;
  int64_t tile_;
  TileProgram program_;
  std::vector<BoundView> inputs_, inits_, outputs_;
  std::vector<TileIo> loads_, stores_;
  int64_t scratch_ = 0;
};

// Per line: the selected values and where they are, then one scatter step on those places. Lines
// run along a dimension that windows pass through, so that its places are all different.
class SelectAndScatterKernel : public Kernel {
 public:
  SelectAndScatterKernel(const plan::SelectAndScatter& step, LoadContext& context)
      : operand_(step.operand()),
        source_(step.source()),
        init_(step.init()),
        out_(step.out()),
        walk_(WindowDims(step.window()), operand_.shape, source_.shape),
        tile_(std::min(kTile, walk_.length())),
        select_(step.select(), {false, false}, tile_, 0, context),
        scatter_(step.scatter(), {false, false}, tile_, select_.workspace_end(), context),
        workspace_(scatter_.workspace_end()),
        operand_io_(operand_.dtype, along(walk_.line(), operand_), workspace_),
        source_io_(source_.dtype, along(walk_.line(), source_), workspace_),
        best_(take(lane_bytes(lane_of(operand_.dtype)))),
        current_(take(lane_bytes(lane_of(operand_.dtype)))),
        places_(take(8)) {
    BoundView fill = init_;
    fill.strides.assign(out_.shape.size(), 0);
    fill_ = make_copy(out_.shape, fill, out_);
    context.need_workspace(workspace_ + kTile * 16);
  }

  void run(const RunContext& context) override {
    fill_->run(context);
    if (std::find(source_.shape.begin(), source_.shape.end(), 0) != source_.shape.end()) return;
    select_.bind(context.workspace);
    select_.run_uniform(tile_);
    scatter_.bind(context.workspace);
    scatter_.run_uniform(tile_);
    walk_.first_position();
    do {
      for (int64_t begin = 0; begin < walk_.length(); begin += tile_)
        run_line(context, begin, std::min(tile_, walk_.length() - begin));
    } while (walk_.next_position());
  }

 private:
  int64_t take(int64_t element_bytes) {
    const int64_t offset = workspace_;
    workspace_ += kTile * element_bytes;
    return offset;
  }

  void run_line(const RunContext& context, int64_t begin, int64_t n) {
    const Lane lane = lane_of(operand_.dtype);
    std::byte* best = context.workspace + best_;
    auto* places = reinterpret_cast<int64_t*>(context.workspace + places_);
    std::byte* scratch = context.workspace + scratch_offset();
    if (!walk_.first_element()) return;
    bool first = true;
    do {
      const int64_t place = offset_of(walk_.element(), out_);
      const std::byte* from = operand_.data(context) + offset_of(walk_.element(), operand_) +
                              begin * operand_io_.strides().column * operand_.element_bytes;
      std::byte* element = context.workspace + operand_io_.slot();
      operand_io_.load(from, first ? best : element, scratch, 1, n);
      if (first) {
        std::fill(places, places + n, place);
      } else {
        keep_or_take(best, element, places, place, lane, n);
      }
      first = false;
    } while (walk_.next_element());
    scatter_line(context, places, begin, n);
  }

  // Where select(best, element) is false, element becomes the best.
  void keep_or_take(std::byte* best, const std::byte* element, int64_t* places, int64_t place,
                    Lane lane, int64_t n) {
    select_.set(0, best);
    select_.set(1, element);
    select_.run(n);
    const auto* keeps = static_cast<const uint8_t*>(select_.at(select_.output(0)));
    const void* values[] = {keeps, best, element};
    loops().find(TileOp::kSelect, lane)(best, values, n, 0);
    for (int64_t i = 0; i < n; ++i) places[i] = keeps[i] ? places[i] : place;
  }

  void scatter_line(const RunContext& context, const int64_t* places, int64_t begin, int64_t n) {
    std::byte* scratch = context.workspace + scratch_offset();
    std::byte* current = context.workspace + current_;
    std::byte* source = context.workspace + source_io_.slot();
    const int64_t step =
        walk_.line() < 0 ? 0 : out_.strides[static_cast<size_t>(walk_.line())] * out_.element_bytes;
    const int64_t bytes = lane_bytes(lane_of(out_.dtype));
    source_io_.load(source_.data(context) + offset_of(walk_.position(), source_) +
                        begin * source_io_.strides().column * source_.element_bytes,
                    source, scratch, 1, n);
    std::byte* out = out_.data(context) + begin * step;
    for (int64_t i = 0; i < n; ++i)
      load_element(out_.dtype, out + places[i] + i * step, current + i * bytes);
    scatter_.set(0, current);
    scatter_.set(1, source);
    scatter_.run(n);
    const auto* result = static_cast<const std::byte*>(scatter_.at(scatter_.output(0)));
    for (int64_t i = 0; i < n; ++i)
      store_element(out_.dtype, result + i * bytes, out + places[i] + i * step);
  }
  int64_t scratch_offset() const { return workspace_; }

  BoundView operand_, source_, init_, out_;
  WindowWalk walk_;
  int64_t tile_;
  TileProgram select_, scatter_;
  int64_t workspace_;
  TileIo operand_io_, source_io_;
  int64_t best_, current_, places_;
  KernelPtr fill_;
};

class NoWindows : public Kernel {
 public:
  void run(const RunContext&) override {}
};

}  // namespace

KernelPtr make_reduce_window(const plan::ReduceWindow& step, LoadContext& context) {
  if (plan::element_count(step.outputs(0).shape()) == 0) return std::make_unique<NoWindows>();
  if (KernelPtr cumulative = make_cumulative(step, context)) return cumulative;
  return std::make_unique<ReduceWindowKernel>(step, context);
}

KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, LoadContext& context) {
  if (plan::element_count(step.operand().shape()) == 0) return std::make_unique<NoWindows>();
  return std::make_unique<SelectAndScatterKernel>(step, context);
}

}  // namespace spmd::cpu
