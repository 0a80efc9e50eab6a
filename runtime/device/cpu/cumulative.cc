#include "runtime/device/cpu/cumulative.h"

#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/plan/reducer.h"

namespace spmd::cpu {
namespace {

// The dimension along which windows grow, forwards (from the first element) or backwards.
struct Growth {
  int dim = -1;
  bool forwards = true;
};

Growth find_growth(const plan::ReduceWindow& step) {
  const plan::Window& w = step.window();
  Growth growth;
  for (int d = 0; d < step.inputs(0).shape_size(); ++d) {
    const int64_t size = step.inputs(0).shape(d);
    if (w.stride(d) != 1 || w.base_dilation(d) != 1 || w.window_dilation(d) != 1) return {};
    if (w.size(d) == 1 && w.pad_low(d) == 0 && w.pad_high(d) == 0) continue;
    const bool forwards = w.pad_low(d) == size - 1 && w.pad_high(d) == 0;
    const bool backwards = w.pad_high(d) == size - 1 && w.pad_low(d) == 0;
    if (growth.dim >= 0 || w.size(d) != size || !(forwards || backwards)) return {};
    growth = {d, forwards};
  }
  return growth;
}

// Keeps a tile of neighbouring lines' accumulators while it walks along the growing dimension.
class CumulativeKernel : public Kernel {
 public:
  CumulativeKernel(const plan::ReduceWindow& step, Growth growth, LoadContext& context)
      : lines_(lines(step, growth.dim)),
        odometer_(lines_, lines_.rank() - 1),
        length_(step.inputs(0).shape(growth.dim)),
        width_(lines_.shape.back()),
        tile_(std::min(kTile, width_)),
        forwards_(growth.forwards),
        program_(plan::accumulating_program(step.op(), step.program(), step.inputs(0).dtype()),
                 {false, false}, tile_, 0, context),
        in_(step.inputs(0)),
        init_(step.inits(0)),
        out_(step.outputs(0)),
        in_step_(in_.strides[static_cast<size_t>(growth.dim)]),
        out_step_(out_.strides[static_cast<size_t>(growth.dim)]),
        workspace_(program_.workspace_end()),
        load_(in_.dtype, {0, lines_.strides[0].back()}, workspace_),
        store_(out_.dtype, {0, lines_.strides[1].back()}, workspace_) {
    context.need_workspace(workspace_ + kTile * 16);
  }

  void run(const RunContext& context) override {
    program_.bind(context.workspace);
    program_.run_uniform(tile_);
    odometer_.reset();
    do {
      for (int64_t begin = 0; begin < width_; begin += tile_)
        run_lines(context, begin, std::min(tile_, width_ - begin));
    } while (odometer_.next());
  }

 private:
  // All dimensions but the growing one; operands: input, output.
  static Iteration lines(const plan::ReduceWindow& step, int dim) {
    Iteration it{
        plan::dims_of(step.inputs(0).shape()),
        {plan::dims_of(step.inputs(0).strides()), plan::dims_of(step.outputs(0).strides())}};
    it.shape[static_cast<size_t>(dim)] = 1;
    drop_unit_dims(it);
    sort_dims(it, 1);
    join_dims(it);
    if (it.rank() == 0) it = {{1}, {{1}, {1}}};
    return it;
  }

  void run_lines(const RunContext& context, int64_t begin, int64_t n) {
    std::byte* scratch = context.workspace + workspace_;
    std::byte* accumulator = context.workspace + store_.slot();
    const int64_t bytes = lane_bytes(lane_of(in_.dtype));
    load_element(init_.dtype, init_.data(context), accumulator);
    broadcast_element(accumulator, bytes, n);
    program_.set(0, accumulator);
    const bool in_place = program_.can_redirect(0);
    if (in_place) program_.set(program_.output(0), accumulator);
    for (int64_t i = 0; i < length_; ++i) {
      const int64_t at = forwards_ ? i : length_ - 1 - i;
      const std::byte* from = in_.data(context) + (odometer_.offset(0) +
                                                   begin * load_.strides().column + at * in_step_) *
                                                      in_.element_bytes;
      std::byte* slot = context.workspace + load_.slot();
      const bool direct = load_.is_direct(1, n);
      if (!direct) load_.load(from, slot, scratch, 1, n);
      program_.set(1, direct ? from : slot);
      program_.run(n);
      if (!in_place)
        std::memcpy(accumulator, program_.at(program_.output(0)), static_cast<size_t>(n * bytes));
      store_.store(accumulator,
                   out_.data(context) +
                       (odometer_.offset(1) + begin * store_.strides().column + at * out_step_) *
                           out_.element_bytes,
                   scratch, 1, n);
    }
  }

  Iteration lines_;
  Odometer odometer_;
  int64_t length_, width_, tile_;
  bool forwards_;
  TileProgram program_;
  BoundView in_, init_, out_;
  int64_t in_step_, out_step_;
  int64_t workspace_;
  TileIo load_, store_;
};

}  // namespace

KernelPtr make_cumulative(const plan::ReduceWindow& step, LoadContext& context) {
  if (step.inputs_size() != 1) return nullptr;
  const Growth growth = find_growth(step);
  if (growth.dim < 0) return nullptr;
  return std::make_unique<CumulativeKernel>(step, growth, context);
}

}  // namespace spmd::cpu
