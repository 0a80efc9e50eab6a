#include "ir/text/enum_names.h"
#include "ir/text/printer.h"
#include "support/error.h"
#include "support/scanner.h"

namespace spmd::text {
namespace {

// Rows of equal width as a tensor.
std::string rows_text(const std::vector<std::vector<int64_t>>& rows) {
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.size());
  if (rows.empty() || width == 0)
    return fmt::format("dense<> : tensor<{}x{}xi64>", rows.size(), width);
  std::string text = "dense<[";
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<int64_t> row = rows[i];
    row.resize(width, -1);
    text += (i == 0 ? "" : ", ") + list_text(row);
  }
  return text + fmt::format("]> : tensor<{}x{}xi64>", rows.size(), width);
}

std::string padding(const Dims& low, const Dims& high) {
  std::vector<std::vector<int64_t>> rows;
  for (size_t i = 0; i < low.size() && i < high.size(); ++i) rows.push_back({low[i], high[i]});
  return rows_text(rows);
}

const char* boolean(bool value) { return value ? "true" : "false"; }

// "a = [0], b = [1]" of the lists that are not empty.
class DimsText {
 public:
  DimsText& list(const char* name, const Dims& dims) {
    if (!dims.empty()) append(fmt::format("{} = {}", name, list_text(dims)));
    return *this;
  }
  DimsText& number(const char* name, int64_t value) {
    if (value != 0) append(fmt::format("{} = {}", name, value));
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  void append(const std::string& part) { text_ += (text_.empty() ? "" : ", ") + part; }
  std::string text_;
};

std::string gather(const GatherAttrs& a) {
  return fmt::format(
      "dimension_numbers = #stablehlo.gather<{}>, indices_are_sorted = {}, slice_sizes = {}",
      DimsText()
          .list("offset_dims", a.offset_dims)
          .list("collapsed_slice_dims", a.collapsed_slice_dims)
          .list("operand_batching_dims", a.operand_batching_dims)
          .list("start_indices_batching_dims", a.start_indices_batching_dims)
          .list("start_index_map", a.start_index_map)
          .number("index_vector_dim", a.index_vector_dim)
          .take(),
      boolean(a.indices_are_sorted), array_text(a.slice_sizes));
}

std::string scatter(const ScatterAttrs& a) {
  return fmt::format(
      "indices_are_sorted = {}, scatter_dimension_numbers = #stablehlo.scatter<{}>, "
      "unique_indices = {}",
      boolean(a.indices_are_sorted),
      DimsText()
          .list("update_window_dims", a.update_window_dims)
          .list("inserted_window_dims", a.inserted_window_dims)
          .list("input_batching_dims", a.input_batching_dims)
          .list("scatter_indices_batching_dims", a.scatter_indices_batching_dims)
          .list("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims)
          .number("index_vector_dim", a.index_vector_dim)
          .take(),
      boolean(a.unique_indices));
}

std::string window(const WindowAttrs& a, bool dilations) {
  std::string text;
  if (dilations) text = fmt::format("base_dilations = {}, ", array_text(a.base_dilation));
  text += fmt::format("padding = {}, ", padding(a.pad_low, a.pad_high));
  if (dilations) text += fmt::format("window_dilations = {}, ", array_text(a.window_dilation));
  return text + fmt::format("window_dimensions = {}, window_strides = {}", array_text(a.size),
                            array_text(a.stride));
}

std::string pairs_text(const CollectivePermuteAttrs& attrs) {
  std::vector<std::vector<int64_t>> rows;
  for (const auto& [source, target] : attrs.source_target_pairs) rows.push_back({source, target});
  if (rows.empty()) return "dense<> : tensor<0x2xi64>";
  return rows_text(rows);
}

}  // namespace

std::string array_text(const Dims& values) {
  if (values.empty()) return "array<i64>";
  std::string text = "array<i64: ";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text + ">";
}

std::string list_text(const Dims& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  }
  return text + "]";
}

std::string Printer::axes(const AxisList& axes) const {
  std::string list;
  for (const AxisRef& axis : axes) {
    if (!list.empty()) list += ", ";
    list += fmt::format("#stablehlo.axis_ref<name = \"{}\"",
                        module_.mesh.axes()[static_cast<size_t>(axis.axis)].name);
    if (!axis.is_full()) list += fmt::format(", sub_axis_info = ({}){}", axis.pre, axis.size);
    list += ">";
  }
  return fmt::format("#stablehlo.replica_group_mesh_axes<mesh = @{}, axes = [{}]>",
                     module_.mesh_name, list);
}

std::string Printer::groups(const CollectiveGroups& groups) const {
  return "replica_groups = " +
         (groups.is_explicit() ? rows_text(groups.explicit_groups) : axes(groups.axes));
}

// The properties of the ops that print in generic form.
std::string Printer::properties(const Op& op) const {
  static constexpr char kChannel[] =
      "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, ";
  switch (op.code) {
    case OpCode::kGather:
      return gather(op.as<GatherAttrs>());
    case OpCode::kScatter:
      return scatter(op.as<ScatterAttrs>());
    case OpCode::kReduceWindow:
      return window(op.as<WindowAttrs>(), true);
    case OpCode::kSelectAndScatter:
      return window(op.as<WindowAttrs>(), false);
    case OpCode::kSort:
      return fmt::format("dimension = {} : i64, is_stable = {}", op.as<SortAttrs>().dim,
                         boolean(op.as<SortAttrs>().is_stable));
    case OpCode::kTriangularSolve: {
      const auto& attrs = op.as<TriangularSolveAttrs>();
      return fmt::format(
          "left_side = {}, lower = {}, transpose_a = #stablehlo<transpose {}>, unit_diagonal = {}",
          boolean(attrs.left_side), boolean(attrs.lower), enum_name(attrs.transpose_a),
          boolean(attrs.unit_diagonal));
    }
    case OpCode::kAttention:
    case OpCode::kAttentionBackward: {
      const auto& attrs = op.as<AttentionAttrs>();
      return fmt::format("causal = {}, scale = {} : f64", boolean(attrs.causal), attrs.scale);
    }
    case OpCode::kAllGather: {
      const auto& attrs = op.as<AllGatherAttrs>();
      return fmt::format("all_gather_dim = {} : i64, {}{}, use_global_device_ids", attrs.dim,
                         kChannel, groups(attrs.groups));
    }
    case OpCode::kAllReduce:
      return fmt::format("{}{}, use_global_device_ids", kChannel,
                         groups(op.as<AllReduceAttrs>().groups));
    case OpCode::kReduceScatter: {
      const auto& attrs = op.as<ReduceScatterAttrs>();
      return fmt::format("{}{}, scatter_dimension = {} : i64, use_global_device_ids", kChannel,
                         groups(attrs.groups), attrs.dim);
    }
    case OpCode::kAllToAll: {
      const auto& attrs = op.as<AllToAllAttrs>();
      const int64_t count = attrs.groups.is_explicit()
                                ? static_cast<int64_t>(attrs.groups.explicit_groups[0].size())
                                : axes_size(attrs.groups.axes, module_.mesh);
      return fmt::format(
          "{}concat_dimension = {} : i64, {}, split_count = {} : i64, "
          "split_dimension = {} : i64",
          kChannel, attrs.concat_dim, groups(attrs.groups), count, attrs.split_dim);
    }
    case OpCode::kCollectivePermute:
      return fmt::format("{}source_target_pairs = {}", kChannel,
                         pairs_text(op.as<CollectivePermuteAttrs>()));
    default:
      return "";
  }
}

}  // namespace spmd::text
