// From dictionaries, with the names of the generic form, to typed attributes.
#include "ir/manual_regions.h"
#include "ir/text/enum_names.h"
#include "ir/text/module_builder.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

namespace {

template <typename Enum>
Enum enumerator(const AttributeReader& from, const Attribute& attribute, std::string_view name) {
  std::string expected;
  for (const auto& row : EnumNames<Enum>::kRows) {
    expected += (expected.empty() ? "" : ", ") + std::string(row.second);
  }
  const auto value = enum_named<Enum>(from.enumerator(attribute, expected));
  if (!value) from.fail(attribute, name, expected);
  return *value;
}

CompareAttrs compare(const AttributeReader& from) {
  CompareAttrs attrs;
  attrs.direction =
      enumerator<CompareDirection>(from, from.get("comparison_direction"), "comparison_direction");
  if (const Attribute* type = from.find("compare_type")) {
    attrs.type = enumerator<CompareType>(from, *type, "compare_type");
  }
  return attrs;
}

ReducePrecisionAttrs reduce_precision(const AttributeReader& from) {
  ReducePrecisionAttrs attrs;
  const auto check = [&](int64_t bits) {
    if (bits < 0 || bits > 64) from.fail("found a format of other than 0 to 64 bits");
    return static_cast<int>(bits);
  };
  const Attribute* format = from.find("format");
  if (format == nullptr) {
    attrs.exponent_bits = check(from.integer("exponent_bits"));
    attrs.mantissa_bits = check(from.integer("mantissa_bits"));
    return attrs;
  }
  Scanner scan(from.enumerator(*format, "a format like e8m7"), "format", Scanner::Kind::kEmbedded);
  scan.expect("e");
  attrs.exponent_bits = check(scan.expect_integer());
  scan.expect("m");
  attrs.mantissa_bits = check(scan.expect_integer());
  return attrs;
}

std::vector<Precision> precision(const AttributeReader& from) {
  std::vector<Precision> list;
  const Attribute* config = from.find("precision_config");
  if (config == nullptr) return list;
  if (config->kind != Kind::kArray) from.fail(*config, "precision_config", "a list");
  for (const Attribute& element : config->elements) {
    list.push_back(enumerator<Precision>(from, element, "precision_config"));
  }
  // What says nothing is written or left out, depending on the producer.
  const auto is_default = [](Precision value) { return value == Precision::kDefault; };
  if (std::all_of(list.begin(), list.end(), is_default)) list.clear();
  return list;
}

// tf32 has no storage of its own: operands stay float32, which is no less precise.
DType algorithm_type(const AttributeReader& from, std::string_view name) {
  const Attribute& type = from.get(name);
  const std::string_view text = from.enumerator(type, "an element type");
  if (text == "tf32") return DType::kF32;
  const auto dtype = dtype_named(text);
  if (!dtype || !is_float(*dtype)) from.fail(type, name, "a floating-point type");
  return *dtype;
}

DotAlgorithm algorithm(const AttributeReader& from) {
  DotAlgorithm result;
  result.lhs = algorithm_type(from, "lhs_precision_type");
  result.rhs = algorithm_type(from, "rhs_precision_type");
  result.accumulation = algorithm_type(from, "accumulation_type");
  result.lhs_components = static_cast<int>(from.integer_or("lhs_component_count", 1));
  result.rhs_components = static_cast<int>(from.integer_or("rhs_component_count", 1));
  result.primitive_operations = static_cast<int>(from.integer_or("num_primitive_operations", 1));
  result.allow_imprecise_accumulation = from.boolean_or("allow_imprecise_accumulation", false);
  return result;
}

DotAttrs dot(const AttributeReader& from) {
  DotAttrs attrs;
  // Without contraction and batching the pretty form says nothing of dimensions.
  if (const Attribute* numbers = from.find("dot_dimension_numbers")) {
    const AttributeReader dims = from.dict(*numbers);
    attrs.lhs_batch = dims.integers_or("lhs_batching_dimensions", {});
    attrs.rhs_batch = dims.integers_or("rhs_batching_dimensions", {});
    attrs.lhs_contracting = dims.integers_or("lhs_contracting_dimensions", {});
    attrs.rhs_contracting = dims.integers_or("rhs_contracting_dimensions", {});
  }
  attrs.precision = precision(from);
  if (const Attribute* found = from.find("algorithm"))
    attrs.algorithm = algorithm(from.dict(*found));
  return attrs;
}

// [[low, high], ...]
void padding(const AttributeReader& from, size_t rank, Dims& low, Dims& high) {
  const Dims pairs = from.integers_or("padding", Dims(2 * rank, 0));
  if (pairs.size() != 2 * rank) from.fail("padding needs one pair per dimension");
  for (size_t i = 0; i < rank; ++i) {
    low.push_back(pairs[2 * i]);
    high.push_back(pairs[2 * i + 1]);
  }
}

ConvolutionAttrs convolution(const AttributeReader& from) {
  ConvolutionAttrs attrs;
  const Attribute& numbers = from.get("dimension_numbers");
  const AttributeReader dims = from.dict(numbers);
  const auto part = [&](std::string_view name, int64_t& first, int64_t& second, Dims& spatial) {
    const Dims positions = dims.integers(name);
    if (positions.size() < 2) from.fail(numbers, "dimension_numbers", "#stablehlo.conv<...>");
    first = positions[0];
    second = positions[1];
    spatial.assign(positions.begin() + 2, positions.end());
  };
  part("input", attrs.input_batch, attrs.input_feature, attrs.input_spatial);
  part("kernel", attrs.kernel_input_feature, attrs.kernel_output_feature, attrs.kernel_spatial);
  part("output", attrs.output_batch, attrs.output_feature, attrs.output_spatial);
  const size_t rank = attrs.input_spatial.size();
  const Dims ones(rank, 1);
  attrs.stride = from.integers_or("window_strides", ones);
  attrs.lhs_dilation = from.integers_or("lhs_dilation", ones);
  attrs.rhs_dilation = from.integers_or("rhs_dilation", ones);
  padding(from, rank, attrs.pad_low, attrs.pad_high);
  for (int64_t flag : from.integers_or("window_reversal", Dims(rank, 0))) {
    attrs.reversal.push_back(flag != 0);
  }
  attrs.feature_group_count = from.integer_or("feature_group_count", 1);
  attrs.batch_group_count = from.integer_or("batch_group_count", 1);
  attrs.precision = precision(from);
  return attrs;
}

WindowAttrs window(const AttributeReader& from) {
  WindowAttrs attrs;
  attrs.size = from.integers("window_dimensions");
  const Dims ones(attrs.size.size(), 1);
  attrs.stride = from.integers_or("window_strides", ones);
  attrs.base_dilation = from.integers_or("base_dilations", ones);
  attrs.window_dilation = from.integers_or("window_dilations", ones);
  padding(from, attrs.size.size(), attrs.pad_low, attrs.pad_high);
  return attrs;
}

GatherAttrs gather(const AttributeReader& from) {
  GatherAttrs attrs;
  const AttributeReader dims = from.dict(from.get("dimension_numbers"));
  attrs.offset_dims = dims.integers_or("offset_dims", {});
  attrs.collapsed_slice_dims = dims.integers_or("collapsed_slice_dims", {});
  attrs.operand_batching_dims = dims.integers_or("operand_batching_dims", {});
  attrs.start_indices_batching_dims = dims.integers_or("start_indices_batching_dims", {});
  attrs.start_index_map = dims.integers_or("start_index_map", {});
  attrs.index_vector_dim = dims.integer_or("index_vector_dim", 0);
  attrs.slice_sizes = from.integers_or("slice_sizes", {});  // dynamic_gather's are an operand
  attrs.indices_are_sorted = from.boolean_or("indices_are_sorted", false);
  return attrs;
}

ScatterAttrs scatter(const AttributeReader& from) {
  ScatterAttrs attrs;
  const AttributeReader dims = from.dict(from.get("scatter_dimension_numbers"));
  attrs.update_window_dims = dims.integers_or("update_window_dims", {});
  attrs.inserted_window_dims = dims.integers_or("inserted_window_dims", {});
  attrs.input_batching_dims = dims.integers_or("input_batching_dims", {});
  attrs.scatter_indices_batching_dims = dims.integers_or("scatter_indices_batching_dims", {});
  attrs.scatter_dims_to_operand_dims = dims.integers_or("scatter_dims_to_operand_dims", {});
  attrs.index_vector_dim = dims.integer_or("index_vector_dim", 0);
  attrs.indices_are_sorted = from.boolean_or("indices_are_sorted", false);
  attrs.unique_indices = from.boolean_or("unique_indices", false);
  return attrs;
}

ConstantAttrs constant(const AttributeReader& from) {
  const Attribute& value = from.get("value");
  if (value.kind != Kind::kLiteral) from.fail(value, "value", "dense<...>");
  return {value.literal};
}

FrontendAttributes frontend_attributes(const AttributeReader& from) {
  FrontendAttributes attributes;
  const Attribute* frontend = from.find("mhlo.frontend_attributes");
  if (frontend == nullptr) return attributes;
  from.dict(*frontend);
  for (const NamedAttribute& entry : frontend->entries) {
    if (entry.value.kind == Kind::kString) {
      attributes.emplace_back(entry.name, entry.value.string);
    }
  }
  return attributes;
}

CustomCallAttrs custom_call(const AttributeReader& from) {
  CustomCallAttrs attrs;
  attrs.target = from.string_or("call_target_name", "");
  attrs.backend_config =
      from.string_or("backend_config", from.string_or("mhlo.backend_config", ""));
  attrs.has_side_effect = from.boolean_or("has_side_effect", false);
  attrs.frontend_attributes = frontend_attributes(from);
  return attrs;
}

RngBitGeneratorAttrs random_bits(const AttributeReader& from) {
  return {enumerator<RngAlgorithm>(from, from.get("rng_algorithm"), "rng_algorithm")};
}

PadAttrs pad(const AttributeReader& from) {
  return {from.integers("edge_padding_low"), from.integers("edge_padding_high"),
          from.integers("interior_padding")};
}

FftAttrs fft(const AttributeReader& from) {
  return {enumerator<FftKind>(from, from.get("fft_type"), "fft_type"), from.integers("fft_length")};
}

TriangularSolveAttrs triangular_solve(const AttributeReader& from) {
  TriangularSolveAttrs attrs;
  attrs.left_side = from.boolean_or("left_side", false);
  attrs.lower = from.boolean_or("lower", false);
  attrs.unit_diagonal = from.boolean_or("unit_diagonal", false);
  attrs.transpose_a = enumerator<TransposeKind>(from, from.get("transpose_a"), "transpose_a");
  return attrs;
}

ImplicitBroadcastAttrs implicit_broadcast(const GenericOp& op, const AttributeReader& from) {
  ImplicitBroadcastAttrs attrs;
  if (from.find("broadcast_dimensions") != nullptr) {
    attrs.dims = from.integers("broadcast_dimensions");
  }
  if (op.code == OpCode::kBroadcastCompare) attrs.compare = compare(from);
  return attrs;
}

CheckAttrs check(const AttributeReader& from) {
  CheckAttrs attrs;
  if (const Attribute* value = from.find("value")) {
    if (value->kind != Kind::kLiteral) from.fail(*value, "value", "dense<...>");
    attrs.expected = value->literal;
  }
  const auto ulps = [&](std::string_view name, uint64_t otherwise) {
    const Attribute* found = from.find(name);
    return found == nullptr ? otherwise : from.unsigned_of(*found, name);
  };
  attrs.min_ulps = ulps("min_ulp_difference", 0);
  attrs.max_ulps = ulps("max_ulp_difference", 3);
  attrs.tolerance = from.number_or("tolerance", attrs.tolerance);
  return attrs;
}

RaggedDotAttrs ragged_dot(const AttributeReader& from) {
  RaggedDotAttrs attrs;
  const AttributeReader dims = from.dict(from.get("ragged_dot_dimension_numbers"));
  const Attribute* inner = dims.find("dot_dimension_numbers");
  const AttributeReader dot_dims = inner == nullptr ? dims : dims.dict(*inner);
  attrs.dot.lhs_batch = dot_dims.integers_or("lhs_batching_dimensions", {});
  attrs.dot.rhs_batch = dot_dims.integers_or("rhs_batching_dimensions", {});
  attrs.dot.lhs_contracting = dot_dims.integers_or("lhs_contracting_dimensions", {});
  attrs.dot.rhs_contracting = dot_dims.integers_or("rhs_contracting_dimensions", {});
  attrs.lhs_ragged = dims.integers_or("lhs_ragged_dimensions", {});
  attrs.rhs_group = dims.integers_or("rhs_group_dimensions", {});
  attrs.dot.precision = precision(from);
  return attrs;
}

}  // namespace

// The names of functions by replica and partition, to be looked up when all are known.
Attrs ModuleBuilder::run_parallel(const AttributeReader& from, OpId id) {
  const Attribute& programs = from.get("programs");
  PendingPrograms pending{function_index_, id, {}, programs.position};
  const auto check = [&](bool good) {
    if (!good) from.fail(programs, "programs", "[[@f, ...], ...]");
  };
  check(programs.kind == Kind::kArray);
  for (const Attribute& row : programs.elements) {
    check(row.kind == Kind::kArray);
    std::vector<std::string>& names = pending.names.emplace_back();
    for (const Attribute& program : row.elements) {
      check(program.kind == Kind::kSymbol);
      names.push_back(program.string);
    }
  }
  programs_.push_back(std::move(pending));
  return RunParallelAttrs{};
}

// Of the ops that are rewritten after reading.
Attrs ModuleBuilder::expanded_attributes(const GenericOp& op, const AttributeReader& from) {
  if (op.spelling.starts_with("chlo.broadcast_")) return implicit_broadcast(op, from);
  switch (op.code) {
    case OpCode::kBatchNormGrad:
    case OpCode::kBatchNormInference:
    case OpCode::kBatchNormTraining:
      return BatchNormAttrs{from.number("epsilon"), from.integer("feature_index")};
    case OpCode::kBroadcast:
      return BroadcastAttrs{from.integers("broadcast_sizes")};
    case OpCode::kCheckAlmostEq:
    case OpCode::kCheckAlmostEqConst:
    case OpCode::kCheckClose:
    case OpCode::kCheckCloseConst:
    case OpCode::kCheckEq:
    case OpCode::kCheckEqConst:
      return check(from);
    case OpCode::kCollectiveBroadcast:
      return CollectiveBroadcastAttrs{parse_groups(from, op.code)};
    case OpCode::kCrossReplicaSum:
      return AllReduceAttrs{parse_groups(from, op.code)};
    case OpCode::kConstantLike: {
      const Attribute& value = from.get("value");
      if (value.kind == Kind::kLiteral) return ConstantAttrs{value.literal};
      return ConstantAttrs{Literal::splat({DType::kF64, {}}, from.number("value"))};
    }
    case OpCode::kDot:
      return DotAttrs{{}, {}, {}, {}, precision(from), std::nullopt};
    case OpCode::kDynamicBroadcastInDim:
      return BroadcastInDimAttrs{from.integers("broadcast_dimensions")};
    case OpCode::kDynamicConv:
      return convolution(from);
    case OpCode::kDynamicGather:
      return gather(from);
    case OpCode::kDynamicIota:
      return IotaAttrs{from.integer("iota_dimension")};
    case OpCode::kEinsum:
    case OpCode::kUnaryEinsum:
      return EinsumAttrs{from.string_or("einsum_config", "")};
    case OpCode::kGetDimensionSize:
    case OpCode::kSetDimensionSize:
      return DimensionAttrs{from.integer("dimension")};
    case OpCode::kRaggedDot:
      return ragged_dot(from);
    case OpCode::kRng:
      return RngAttrs{
          enumerator<RngDistribution>(from, from.get("rng_distribution"), "rng_distribution")};
    case OpCode::kTorchIndexSelect:
      return TorchIndexSelectAttrs{from.integer("dim"), from.integer_or("batch_dims", 0)};
    default:
      return NoAttrs{};
  }
}

Attrs ModuleBuilder::attributes_of(const GenericOp& op, OpId id) {
  const AttributeReader from = reader(op.attributes, op.spelling, op.position);
  switch (op.code) {
    case OpCode::kCompare:
      return compare(from);
    case OpCode::kReducePrecision:
      return reduce_precision(from);
    case OpCode::kConstant:
      return constant(from);
    case OpCode::kIota:
      return IotaAttrs{from.integer("iota_dimension")};
    case OpCode::kBroadcastInDim:
      return BroadcastInDimAttrs{from.integers("broadcast_dimensions")};
    case OpCode::kConcatenate:
      return ConcatenateAttrs{from.integer("dimension")};
    case OpCode::kPad:
      return pad(from);
    case OpCode::kReverse:
      return ReverseAttrs{from.integers("dimensions")};
    case OpCode::kSlice:
      return SliceAttrs{from.integers("start_indices"), from.integers("limit_indices"),
                        from.integers("strides")};
    case OpCode::kTranspose:
      return TransposeAttrs{from.integers("permutation")};
    case OpCode::kDotGeneral:
      return dot(from);
    case OpCode::kConvolution:
      return convolution(from);
    case OpCode::kReduce:
      return ReduceAttrs{from.integers("dimensions")};
    case OpCode::kReduceWindow:
    case OpCode::kSelectAndScatter:
      return window(from);
    case OpCode::kDynamicSlice:
      return DynamicSliceAttrs{from.integers("slice_sizes")};
    case OpCode::kGather:
      return gather(from);
    case OpCode::kScatter:
      return scatter(from);
    case OpCode::kSort: {
      // Negative ones count from the last, which is the default.
      int64_t dim = from.integer_or("dimension", -1);
      if (dim < 0 && !op.operands.empty()) dim += fn_->type(op.operands[0]).rank();
      return SortAttrs{dim, from.boolean_or("is_stable", false)};
    }
    case OpCode::kTopK:
      return TopKAttrs{from.integer("k")};
    case OpCode::kRngBitGenerator:
      return random_bits(from);
    case OpCode::kCall: {
      const char* key = op.spelling == "stablehlo.composite" ? "decomposition" : "callee";
      const Attribute& callee = from.get(key);
      if (callee.kind != Kind::kSymbol) from.fail(callee, key, "@ and a function");
      calls_.push_back({function_index_, id, callee.string, callee.position});
      keep_manual_attributes(*fn_, id, frontend_attributes(from));
      return CallAttrs{};
    }
    case OpCode::kCustomCall:
      return custom_call(from);
    case OpCode::kAttention:
    case OpCode::kAttentionBackward:
      return AttentionAttrs{from.number("scale"), from.boolean_or("causal", false)};
    case OpCode::kFft:
      return fft(from);
    case OpCode::kCholesky:
      return CholeskyAttrs{from.boolean_or("lower", false)};
    case OpCode::kTriangularSolve:
      return triangular_solve(from);
    case OpCode::kRunParallel:
      return run_parallel(from, id);
    default:
      break;
  }
  if (family_of(op.code) == OpFamily::kExpanded) return expanded_attributes(op, from);
  if (family_of(op.code) == OpFamily::kCollective) return collective_attributes(op, id, from);
  return NoAttrs{};
}

}  // namespace spmd::text
