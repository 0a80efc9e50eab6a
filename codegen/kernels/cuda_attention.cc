#include "codegen/kernels/cuda_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/error.h"

namespace spmd::codegen::kernels {
namespace {

#include "codegen/kernels/attention_text.inc"

// As in attention_tiles.inc.
constexpr int64_t kSide = 16, kThreads = kSide * kSide;

// Of a block, in bytes: what the GPUs with the least of it give to one (sm_86, sm_89, sm_120), and
// less than half of what sm_90 has.
constexpr int64_t kMostShared = 99 << 10;

// Blocks that fill the largest GPU.
constexpr int64_t kEnoughBlocks = 256;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The tile of a head's vectors: HeadTile of attention_tiles.inc.
struct HeadTile {
  explicit HeadTile(int64_t numbers) : size(numbers) {
    // The widest vectors of which not too many are for nothing.
    for (vector = 4; vector > 1; vector /= 2)
      if (kSide * vector * ceil_div(size, kSide * vector) <= size + size / 4) break;
    groups = ceil_div(size, kSide * vector);
    // An odd number of 16 bytes: 8 rows lie in different banks.
    const int64_t covered = std::max(ceil_div(size, 4) * 4, kSide * vector * groups);
    stride = (ceil_div(covered, 4) | 1) * 4;
  }
  std::string text() const {
    return fmt::format("HeadTile<{}, {}, {}, {}>", size, stride, vector, groups);
  }

  int64_t size, vector, groups, stride;
};

// How a block's tiles are cut: 16 * rows of its own by 16 * columns at a time.
struct Tiling {
  int64_t rows, columns;
  bool has_both;  // keys and values, or queries and gradients, at once; else one after the other
};

// From those that read shared memory the least for each multiplication.
constexpr Tiling kTilings[] = {{8, 4, true},  {8, 4, false}, {4, 4, true}, {4, 4, false},
                               {4, 2, true},  {4, 2, false}, {4, 1, true}, {4, 1, false},
                               {2, 1, false}, {1, 1, false}};

struct Sizes {
  int64_t batch, queries, heads, groups, keys;
  HeadTile head, width;
  bool is_backward;
};

// Floats in front of the tile of weights.
int64_t floats_of_vectors(const Sizes& n, const Tiling& tiling) {
  const int64_t rows = kSide * tiling.rows, columns = kSide * tiling.columns;
  const int64_t both = n.head.stride + n.width.stride;
  const int64_t own = n.is_backward ? both : n.head.stride;
  return rows * own + columns * (tiling.has_both ? both : std::max(n.head.stride, n.width.stride));
}

// Neighbouring rows of weights lie half of the banks apart.
int64_t weight_stride(const Tiling& tiling) { return (tiling.columns | 1) * kSide; }

int64_t shared_bytes(const Sizes& n, const Tiling& tiling) {
  const int64_t weights = kSide * tiling.rows * weight_stride(tiling);
  const int64_t of_columns = n.is_backward ? 2 * kSide * tiling.columns : 0;
  return (floats_of_vectors(n, tiling) + weights + of_columns) * 4;
}

int64_t blocks_of(const Sizes& n, const Tiling& tiling) {
  const int64_t rows = kSide * tiling.rows;
  const int64_t of_queries = n.batch * n.heads * n.groups * ceil_div(n.queries, rows);
  const int64_t of_keys = n.batch * n.heads * ceil_div(n.keys, rows);
  return of_queries + (n.is_backward ? of_keys : 0);
}

// Sums that a thread has in registers; with a hundred there are two blocks on a multiprocessor.
int64_t sums_of_thread(const Sizes& n, const Tiling& tiling) {
  const int64_t head = n.head.vector * n.head.groups, width = n.width.vector * n.width.groups;
  return tiling.rows * (n.is_backward ? 2 * tiling.columns + head + width : tiling.columns + width);
}

Tiling choose_tiling(const Sizes& n) {
  constexpr int64_t kMostSums = 80;
  for (const Tiling& tiling : kTilings) {
    if (shared_bytes(n, tiling) > kMostShared || sums_of_thread(n, tiling) > kMostSums) continue;
    if (tiling.rows > 4 && blocks_of(n, tiling) < kEnoughBlocks) continue;
    return tiling;
  }
  SPMD_UNREACHABLE("no tiles of heads of {} and {} numbers", n.head.size, n.width.size);
}

const char* type_text(plan::DType dtype) {
  switch (dtype) {
    case plan::BF16:
      return "StoredBFloat16";
    case plan::F16:
      return "StoredFloat16";
    default:
      return "StoredFloat32";
  }
}

// Strides for [batch, position, head, group].
std::vector<int64_t> strides_of(const plan::View& view, bool is_statistics) {
  const auto& s = view.strides();
  if (is_statistics) return {s[0], s[3], s[1], s[2]};
  return {s[0], s[1], s[2], s.size() == 5 ? s[3] : 0};
}

// Whether vectors of four numbers are aligned.
bool is_aligned(const plan::View& view) {
  bool aligned = view.offset() % 4 == 0;
  for (int d = 0; d + 1 < view.strides_size(); ++d)
    aligned = aligned && (view.shape(d) == 1 || view.strides(d) % 4 == 0);
  return aligned;
}

struct NamedView {
  const char* name;
  const plan::View& view;
};

std::vector<NamedView> views_of(const plan::Attention& step) {
  return {{"Query", step.query()},
          {"Key", step.key()},
          {"Value", step.value()},
          {"Output", step.output()},
          {"Statistics", step.statistics()}};
}

std::vector<NamedView> views_of(const plan::AttentionBackward& step) {
  return {{"Query", step.query()},           {"Key", step.key()},
          {"Value", step.value()},           {"Output", step.output()},
          {"Statistics", step.statistics()}, {"DOutput", step.d_output()},
          {"DQuery", step.d_query()},        {"DKey", step.d_key()},
          {"DValue", step.d_value()}};
}

template <typename Step>
plan::Kernel emit(const Step& step, bool is_backward, const std::string& name,
                  std::string& source) {
  const auto &q = step.query().shape(), &v = step.value().shape();
  const Sizes n{q[0], q[1], q[2], q[3], v[1], HeadTile(q[4]), HeadTile(v[3]), is_backward};
  const Tiling tiling = choose_tiling(n);
  const std::vector<NamedView> views = views_of(step);
  source += fmt::format("struct {}_shape {{\n  using Type = {};\n", name,
                        type_text(step.query().dtype()));
  source += fmt::format("  using Head = {};\n  using Width = {};\n", n.head.text(), n.width.text());
  bool aligned = true;
  for (const NamedView& named : views) {
    const bool is_statistics = &named.view == &step.statistics();
    const std::vector<int64_t> s = strides_of(named.view, is_statistics);
    source += fmt::format("  using {} = HeadStrides<{}, {}, {}, {}>;\n", named.name, s[0], s[1],
                          s[2], s[3]);
    aligned = aligned && (is_statistics || is_aligned(named.view));
  }
  const auto constant = [&](const char* type, const char* what, const std::string& value) {
    source += fmt::format("  static constexpr {} {} = {};\n", type, what, value);
  };
  for (const auto& [what, value] :
       {std::pair{"kBatch", n.batch}, std::pair{"kQueries", n.queries},
        std::pair{"kHeads", n.heads}, std::pair{"kGroups", n.groups}, std::pair{"kKeys", n.keys}})
    constant("int64_t", what, std::to_string(value));
  for (const auto& [what, value] :
       {std::pair{"kRows", tiling.rows}, std::pair{"kColumns", tiling.columns},
        std::pair{"kWeights", floats_of_vectors(n, tiling)},
        std::pair{"kWeightStride", weight_stride(tiling)}})
    constant("int", what, std::to_string(value));
  constant("bool", "kCausal", step.causal() ? "true" : "false");
  constant("bool", "kAligned", aligned ? "true" : "false");
  constant("bool", "kHasBoth", tiling.has_both ? "true" : "false");
  constant("float", "kScale", fmt::format("{:a}f", static_cast<float>(step.scale())));
  source += fmt::format(
      "}};\n"
      "extern \"C\" __global__ void __launch_bounds__({0}, 2) {1}(const Args<{2}> args) {{\n"
      "  SPMD_SHARED_MEMORY(memory, {3});\n"
      "  {4}<{1}_shape>(args.p, memory->v);\n"
      "}}\n",
      kThreads, name, views.size(), shared_bytes(n, tiling),
      is_backward ? "attention_backward" : "attention");
  plan::Kernel kernel;
  kernel.set_name(name);
  kernel.set_arguments(static_cast<int32_t>(views.size()));
  kernel.set_blocks(blocks_of(n, tiling));
  kernel.set_threads(static_cast<int32_t>(kThreads));
  kernel.set_shared_bytes(static_cast<int32_t>(shared_bytes(n, tiling)));
  return kernel;
}

}  // namespace

std::string cuda_attention_prelude() {
  std::string text = "namespace {\n";
  for (const char* part :
       {kText_attention_tiles, kText_attention_forward, kText_attention_backward})
    text += part;
  return text + "}  // namespace\n";
}

plan::Kernel emit_cuda_attention(const plan::Step& step, const std::string& name,
                                 std::string& source) {
  return step.has_attention() ? emit(step.attention(), false, name, source)
                              : emit(step.attention_backward(), true, name, source);
}

}  // namespace spmd::codegen::kernels
