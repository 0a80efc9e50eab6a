#include <algorithm>
#include <set>

#include "runtime/device/cpu/indexing.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/plan/reducer.h"

namespace spmd::cpu {
namespace {

// Updates one window at a time, in row-major order of the scatter indices. Windows that reach over
// the operand's edge are cut there.
class ScatterKernel : public Kernel {
 public:
  ScatterKernel(const plan::Scatter& step, LoadContext& context)
      : indices_(step.indices()),
        program_(plan::reducer_program(step.op(), step.program(), step.operands(0).dtype()),
                 std::vector<bool>(static_cast<size_t>(2 * step.operands_size())), kTile, 0,
                 context) {
    for (int i = 0; i < step.operands_size(); ++i) {
      operands_.emplace_back(step.operands(i));
      updates_.emplace_back(step.updates(i));
      outs_.emplace_back(step.outs(i));
      copies_.push_back(make_copy(outs_.back().shape, operands_.back(), outs_.back()));
    }
    make_window(step);
    make_batch(step);
    int64_t workspace = program_.workspace_end();
    const int64_t rank = static_cast<int64_t>(window_.rank());
    for (size_t i = 0; i < outs_.size(); ++i) {
      const TileStrides out{0, rank ? window_.strides[i].back() : 0};
      const TileStrides update{0, rank ? window_.strides[outs_.size() + i].back() : 0};
      current_.emplace_back(outs_[i].dtype, out, workspace);
      update_.emplace_back(updates_[i].dtype, update, workspace);
    }
    scratch_ = workspace;
    context.need_workspace(workspace + kTile * 16);
  }

  void run(const RunContext& context) override {
    for (size_t i = 0; i < outs_.size(); ++i)
      if (operands_[i].data(context) != outs_[i].data(context) ||
          operands_[i].strides != outs_[i].strides)
        copies_[i]->run(context);
    if (batch_.count() == 0 || window_.count() == 0) return;
    program_.bind(context.workspace);
    program_.run_uniform(kTile);
    batch_index_->reset();
    do {
      apply_window(context);
    } while (batch_index_->next());
  }

 private:
  struct Component {
    size_t operand_dim;
    int window_dim;  // the window's dimension along it, or -1 when inserted
  };

  void make_window(const plan::Scatter& step) {
    std::set<int64_t> dropped(step.inserted_window_dims().begin(),
                              step.inserted_window_dims().end());
    dropped.insert(step.input_batching_dims().begin(), step.input_batching_dims().end());
    window_.strides.resize(2 * outs_.size());
    std::vector<int> window_of(outs_[0].shape.size(), -1);
    int next = 0;
    for (size_t d = 0; d < outs_[0].shape.size(); ++d) {
      if (dropped.count(static_cast<int64_t>(d))) continue;
      const auto u = static_cast<size_t>(step.update_window_dims(next));
      window_of[d] = next++;
      window_.shape.push_back(updates_[0].shape[u]);
      limits_.push_back(outs_[0].shape[d]);
      for (size_t i = 0; i < outs_.size(); ++i) {
        window_.strides[i].push_back(outs_[i].strides[d]);
        window_.strides[outs_.size() + i].push_back(updates_[i].strides[u]);
      }
    }
    for (int64_t d : step.scatter_dims_to_operand_dims())
      components_.push_back({static_cast<size_t>(d), window_of[static_cast<size_t>(d)]});
    begin_.resize(window_.rank());
    end_.resize(window_.rank());
    index_.resize(window_.rank());
  }

  // The scatter dimensions, walked through indices (0), then updates and results (through their
  // batching dimensions) of each operand.
  void make_batch(const plan::Scatter& step) {
    const std::set<int64_t> windows(step.update_window_dims().begin(),
                                    step.update_window_dims().end());
    batch_.strides.resize(1 + 2 * outs_.size());
    size_t u = 0;
    for (size_t d = 0; d < indices_.shape.size(); ++d) {
      if (static_cast<int64_t>(d) == step.index_vector_dim()) continue;
      while (windows.count(static_cast<int64_t>(u))) ++u;
      batch_.shape.push_back(indices_.shape[d]);
      batch_.strides[0].push_back(indices_.strides[d]);
      for (size_t i = 0; i < outs_.size(); ++i) {
        batch_.strides[1 + 2 * i].push_back(updates_[i].strides[u]);
        int64_t stride = 0;
        for (int k = 0; k < step.scatter_indices_batching_dims_size(); ++k)
          if (step.scatter_indices_batching_dims(k) == static_cast<int64_t>(d))
            stride = outs_[i].strides[static_cast<size_t>(step.input_batching_dims(k))];
        batch_.strides[2 + 2 * i].push_back(stride);
      }
      ++u;
    }
    batch_index_ = std::make_unique<Odometer>(batch_, batch_.rank());
    const auto vector_dim = static_cast<size_t>(step.index_vector_dim());
    component_stride_ = vector_dim < indices_.strides.size() ? indices_.strides[vector_dim] : 0;
  }

  // Finds where the window begins, and its part inside the operand. False when there is none.
  bool locate(const RunContext& context, std::vector<int64_t>& starts) {
    std::fill(begin_.begin(), begin_.end(), 0);
    end_ = window_.shape;
    for (size_t w = 0; w < end_.size(); ++w) end_[w] = std::min(end_[w], limits_[w]);
    const std::byte* index =
        indices_.data(context) + batch_index_->offset(0) * indices_.element_bytes;
    for (size_t c = 0; c < components_.size(); ++c) {
      const int64_t start = read_integer(index, indices_.dtype);
      index += component_stride_ * indices_.element_bytes;
      const int64_t size = outs_[0].shape[components_[c].operand_dim];
      starts[c] = start;
      const int w = components_[c].window_dim;
      if (w < 0) {
        if (start < 0 || start >= size) return false;
        continue;
      }
      const auto d = static_cast<size_t>(w);
      if (start >= size || start <= -window_.shape[d]) return false;
      begin_[d] = std::max<int64_t>(0, -start);
      end_[d] = std::min(window_.shape[d], size - start);
      if (begin_[d] >= end_[d]) return false;
    }
    return true;
  }

  void apply_window(const RunContext& context) {
    starts_.resize(components_.size());
    if (!locate(context, starts_)) return;
    const size_t rank = window_.rank();
    if (rank == 0) return apply_line(context, 1);
    index_ = begin_;
    const int64_t length = end_[rank - 1] - begin_[rank - 1];
    while (true) {
      for (int64_t done = 0; done < length; done += kTile) {
        index_[rank - 1] = begin_[rank - 1] + done;
        apply_line(context, std::min(kTile, length - done));
      }
      size_t d = rank - 1;
      while (d-- > 0) {
        if (++index_[d] < end_[d]) break;
        index_[d] = begin_[d];
      }
      if (d == static_cast<size_t>(-1)) return;
    }
  }

  // n elements along the window's last dimension, from index_.
  void apply_line(const RunContext& context, int64_t n) {
    const size_t count = outs_.size();
    for (size_t i = 0; i < count; ++i) {
      set_input(context, i, current_[i], out_at(context, i), n);
      int64_t offset = batch_index_->offset(1 + 2 * i);
      for (size_t d = 0; d < index_.size(); ++d)
        offset += index_[d] * window_.strides[count + i][d];
      set_input(context, count + i, update_[i],
                updates_[i].data(context) + offset * updates_[i].element_bytes, n);
    }
    program_.run(n);
    for (size_t i = 0; i < count; ++i)
      current_[i].store(program_.at(program_.output(static_cast<int>(i))), out_at(context, i),
                        context.workspace + scratch_, 1, n);
  }

  std::byte* out_at(const RunContext& context, size_t i) const {
    int64_t offset = batch_index_->offset(2 + 2 * i);
    for (size_t c = 0; c < components_.size(); ++c)
      offset += starts_[c] * outs_[i].strides[components_[c].operand_dim];
    for (size_t d = 0; d < index_.size(); ++d) offset += index_[d] * window_.strides[i][d];
    return outs_[i].data(context) + offset * outs_[i].element_bytes;
  }

  void set_input(const RunContext& context, size_t reg, const TileIo& io, const std::byte* from,
                 int64_t n) {
    std::byte* slot = context.workspace + io.slot();
    io.load(from, slot, context.workspace + scratch_, 1, n);
    program_.set(static_cast<int32_t>(reg), slot);
  }

  BoundView indices_;
  std::vector<BoundView> operands_, updates_, outs_;
  std::vector<KernelPtr> copies_;
  TileProgram program_;
  Iteration window_;  // strides: results, then updates
  Iteration batch_;
  std::unique_ptr<Odometer> batch_index_;
  std::vector<Component> components_;
  std::vector<int64_t> limits_;  // of the operand along the window's dimensions
  std::vector<int64_t> begin_, end_, index_, starts_;
  std::vector<TileIo> current_, update_;
  int64_t component_stride_ = 0, scratch_ = 0;
};

}  // namespace

KernelPtr make_scatter(const plan::Scatter& step, LoadContext& context) {
  return std::make_unique<ScatterKernel>(step, context);
}

}  // namespace spmd::cpu
