#include "codegen/kernels/cuda_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

// The struct that the templates call Shape.
template <typename Step>
std::string shape_text(const Step& step, const Sizes& n, const Tiling& tiling,
                       const std::string& name) {
  std::string text = fmt::format("struct {} {{\n", name);
  const auto add_type = [&](const char* what, const std::string& type) {
    text += fmt::format("  using {} = {};\n", what, type);
  };
  const auto add_constant = [&](const char* type, const char* what, const auto& value) {
    text += fmt::format("  static constexpr {} {} = {};\n", type, what, value);
  };
  add_type("Type", type_text(step.query().dtype()));
  add_type("Head", n.head.text());
  add_type("Width", n.width.text());
  bool aligned = true;
  for (const NamedView& named : views_of(step)) {
    const bool is_statistics = &named.view == &step.statistics();
    add_type(named.name, fmt::format("HeadStrides<{}>",
                                     fmt::join(strides_of(named.view, is_statistics), ", ")));
    aligned = aligned && (is_statistics || is_aligned(named.view));
  }
  add_constant("int64_t", "kBatch", n.batch);
  add_constant("int64_t", "kQueries", n.queries);
  add_constant("int64_t", "kHeads", n.heads);
  add_constant("int64_t", "kGroups", n.groups);
  add_constant("int64_t", "kKeys", n.keys);
  add_constant("int", "kRows", tiling.rows);
  add_constant("int", "kColumns", tiling.columns);
  add_constant("int", "kWeights", floats_of_vectors(n, tiling));
  add_constant("int", "kWeightStride", weight_stride(tiling));
  add_constant("bool", "kHasBoth", tiling.has_both);
  add_constant("bool", "kAligned", aligned);
  add_constant("bool", "kCausal", step.causal());
  add_constant("float", "kScale", fmt::format("{:a}f", static_cast<float>(step.scale())));
  return text + "};\n";
}

template <typename Step>
plan::Kernel emit(const Step& step, bool is_backward, const std::string& name,
                  std::string& source) {
  const auto &q = step.query().shape(), &v = step.value().shape();
  const Sizes n{q[0], q[1], q[2], q[3], v[1], HeadTile(q[4]), HeadTile(v[3]), is_backward};
  const Tiling tiling = choose_tiling(n);
  plan::Kernel kernel;
  kernel.set_name(name);
  kernel.set_arguments(static_cast<int32_t>(views_of(step).size()));
  kernel.set_blocks(blocks_of(n, tiling));
  kernel.set_threads(static_cast<int32_t>(kThreads));
  kernel.set_shared_bytes(static_cast<int32_t>(shared_bytes(n, tiling)));
  source += shape_text(step, n, tiling, name + "_shape");
  source += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 2) {1}(const Args<{2}> args) {{\n"
      "  SPMD_SHARED_MEMORY(memory, {3});\n"
      "  {4}<{1}_shape>(args.p, memory->v);\n"
      "}}\n",
      kernel.threads(), name, kernel.arguments(), kernel.shared_bytes(),
      is_backward ? "attention_backward" : "attention");
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
