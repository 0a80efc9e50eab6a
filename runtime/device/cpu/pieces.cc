#include "runtime/device/cpu/pieces.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "runtime/device/cpu/packer.h"

namespace spmd::cpu {
namespace {

using Sizes = google::protobuf::RepeatedField<int64_t>;

// What is less than this is done before other threads have heard of it, and what is less than that
// is not worth another thread.
constexpr int64_t kFewestMultiplications = 2'200'000, kMultiplicationsOfAPiece = 400'000;
constexpr int64_t kFewestCopiedBytes = 1 << 18, kBytesOfAPiece = 1 << 16;

int limited(int most, int64_t work, int64_t of_a_piece) {
  return static_cast<int>(std::min<int64_t>(most, work / of_a_piece));
}

// A dimension along which a step can be cut.
struct Cut {
  int64_t size = 0;
  int64_t repeated = 0;  // what each piece does again: elements that it reads, or packs, all of
  // Keeps [begin, begin + size) of the dimension.
  std::function<void(plan::Step& step, int64_t begin, int64_t size)> keep;
};

void keep(plan::View& view, int dim, int64_t begin, int64_t size) {
  view.set_offset(view.offset() + begin * view.strides(dim));
  if (dim < view.shape_size()) view.set_shape(dim, size);
}

// The cut that gives the most pieces, of those the one that repeats the least.
std::optional<Cut> best(std::vector<Cut> cuts, int most) {
  std::optional<Cut> result;
  const auto pieces = [&](const Cut& cut) { return std::min<int64_t>(cut.size, most); };
  for (Cut& cut : cuts) {
    if (cut.size < 2) continue;
    if (!result || pieces(cut) > pieces(*result) ||
        (pieces(cut) == pieces(*result) && cut.repeated < result->repeated))
      result = std::move(cut);
  }
  return result;
}

std::vector<plan::Step> cut_step(const plan::Step& step, const std::optional<Cut>& cut, int most) {
  if (!cut) return {step};
  const int64_t count = std::min<int64_t>(cut->size, most);
  std::vector<plan::Step> pieces;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = cut->size * i / count, end = cut->size * (i + 1) / count;
    pieces.push_back(step);
    cut->keep(pieces.back(), begin, end - begin);
  }
  return pieces;
}

// ---- products

std::vector<Cut> cuts_of(const plan::Dot& dot) {
  const int b = dot.batch_size(), m = dot.m_size();
  const int64_t rows = plan::element_count(dot.m()), columns = plan::element_count(dot.n()),
                inner = plan::element_count(dot.k()) * plan::element_count(dot.batch());
  std::vector<Cut> cuts;
  for (int d = 0; d < b; ++d)
    cuts.push_back({dot.batch(d), 0, [d](plan::Step& step, int64_t begin, int64_t size) {
                      plan::Dot& part = *step.mutable_dot();
                      part.set_batch(d, size);
                      keep(*part.mutable_lhs(), d, begin, size);
                      keep(*part.mutable_rhs(), d, begin, size);
                      keep(*part.mutable_out(), d, begin, size);
                    }});
  for (int d = 0; d < m; ++d)
    cuts.push_back(
        {dot.m(d), columns * inner, [d, b](plan::Step& step, int64_t begin, int64_t size) {
           plan::Dot& part = *step.mutable_dot();
           part.set_m(d, size);
           keep(*part.mutable_lhs(), b + d, begin, size);
           keep(*part.mutable_out(), b + d, begin, size);
         }});
  for (int d = 0; d < dot.n_size(); ++d)
    cuts.push_back(
        {dot.n(d), rows * inner, [d, b, m](plan::Step& step, int64_t begin, int64_t size) {
           plan::Dot& part = *step.mutable_dot();
           part.set_n(d, size);
           keep(*part.mutable_rhs(), b + d, begin, size);
           keep(*part.mutable_out(), b + m + d, begin, size);
         }});
  return cuts;
}

std::vector<plan::Step> pieces_of_product(const plan::Step& step, int most) {
  const plan::Dot& dot = step.dot();
  const int64_t multiplications = plan::element_count(dot.batch()) * plan::element_count(dot.m()) *
                                  plan::element_count(dot.n()) * plan::element_count(dot.k());
  // Operands that are not float32 are converted first, for as long again.
  const bool converts = dot.lhs().dtype() != plan::F32 || dot.rhs().dtype() != plan::F32;
  const int64_t work = converts ? 2 * multiplications : multiplications;
  if (dot.has_epilogue() || work < kFewestMultiplications) return {step};
  most = limited(most, work, kMultiplicationsOfAPiece);
  return cut_step(step, best(cuts_of(dot), most), most);
}

// ---- convolutions

// Along the batch, else along the features of the result.
std::vector<Cut> cuts_of(const plan::Convolution& convolution) {
  std::vector<Cut> cuts;
  if (convolution.batch_groups() == 1)
    cuts.push_back({convolution.out().shape(0), plan::element_count(convolution.kernel().shape()),
                    [](plan::Step& step, int64_t begin, int64_t size) {
                      keep(*step.mutable_convolution()->mutable_input(), 0, begin, size);
                      keep(*step.mutable_convolution()->mutable_out(), 0, begin, size);
                    }});
  if (convolution.batch_groups() == 1 && convolution.feature_groups() == 1)
    cuts.push_back({convolution.out().shape(1), plan::element_count(convolution.input().shape()),
                    [](plan::Step& step, int64_t begin, int64_t size) {
                      keep(*step.mutable_convolution()->mutable_kernel(), 0, begin, size);
                      keep(*step.mutable_convolution()->mutable_out(), 1, begin, size);
                    }});
  return cuts;
}

std::vector<plan::Step> pieces_of_convolution(const plan::Step& step, int most) {
  const plan::Convolution& convolution = step.convolution();
  const int64_t features = std::max<int64_t>(convolution.out().shape(1), 1);
  const int64_t multiplications = plan::element_count(convolution.out().shape()) *
                                  plan::element_count(convolution.kernel().shape()) / features;
  if (multiplications < kFewestMultiplications) return {step};
  most = limited(most, multiplications, kMultiplicationsOfAPiece);
  return cut_step(step, best(cuts_of(convolution), most), most);
}

// ---- copies

// Nothing is done again; of the long dimensions the outermost is best, since what a thread writes
// then lies together.
std::vector<plan::Step> pieces_of_copy(const plan::Step& step, int most) {
  const plan::Elementwise& copy = step.elementwise();
  const int64_t bytes =
      plan::element_count(copy.shape()) * plan::byte_size(copy.outputs(0).dtype());
  if (bytes < kFewestCopiedBytes) return {step};
  std::vector<Cut> cuts;
  for (int d = 0; d < copy.shape_size(); ++d)
    cuts.push_back(
        {copy.shape(d), /*repeated=*/d, [d](plan::Step& part, int64_t begin, int64_t size) {
           plan::Elementwise& piece = *part.mutable_elementwise();
           piece.set_shape(d, size);
           keep(*piece.mutable_inputs(0), d, begin, size);
           keep(*piece.mutable_outputs(0), d, begin, size);
         }});
  most = limited(most, bytes, kBytesOfAPiece);
  return cut_step(step, best(std::move(cuts), most), most);
}

class SideBySide : public Kernel {
 public:
  SideBySide(const std::vector<plan::Step>& pieces, Workers& workers, LoadContext& context)
      : workers_(workers), kernels_(pieces.size()), workspaces_(pieces.size()) {
    std::vector<LoadContext> contexts(pieces.size());
    workers_.run(count(), [&](int i) {
      const auto at = static_cast<size_t>(i);
      contexts[at].op = context.op;
      kernels_[at] = make_kernel(pieces[at], contexts[at]);
    });
    int64_t bytes = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      workspaces_[i] = bytes;
      bytes += align_workspace(contexts[i].workspace_bytes);
    }
    context.need_workspace(bytes);
  }

  void run(const RunContext& context) override {
    workers_.run(count(), [&](int i) {
      const auto at = static_cast<size_t>(i);
      RunContext own = context;
      own.workspace += workspaces_[at];
      kernels_[at]->run(own);
    });
  }

 private:
  int count() const { return static_cast<int>(kernels_.size()); }

  Workers& workers_;
  std::vector<KernelPtr> kernels_;
  std::vector<int64_t> workspaces_;  // where each piece's begins in the step's
};

}  // namespace

std::vector<plan::Step> pieces_of(const plan::Step& step, int most) {
  if (most < 2) return {step};
  if (step.has_dot()) return pieces_of_product(step, most);
  if (step.has_convolution()) return pieces_of_convolution(step, most);
  if (step.has_elementwise() && plan::is_copy(step)) return pieces_of_copy(step, most);
  return {step};
}

KernelPtr make_side_by_side(const std::vector<plan::Step>& pieces, Workers& workers,
                            LoadContext& context) {
  if (pieces.size() == 1) return make_kernel(pieces[0], context);
  return std::make_unique<SideBySide>(pieces, workers, context);
}

}  // namespace spmd::cpu
