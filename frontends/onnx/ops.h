// What each op becomes. A family's file lists its ops.
#pragma once

#include <span>
#include <string_view>

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// Element types that the first input may have.
enum class Accepts : uint8_t { kAnything, kFloats, kNumbers, kIntegers, kBooleans, kTensors };

// The domain of ONNX Runtime's own ops. What they mean: its docs/ContribOperators.md.
inline constexpr std::string_view kMicrosoft = "com.microsoft";

struct OpHandler {
  std::string_view name;
  void (*emit)(Node& node);
  Accepts accepts = Accepts::kTensors;
  int since = 1;  // first version of the operator set that has the op in this form
  std::string_view domain = "";
};

std::span<const OpHandler> activation_ops();
std::span<const OpHandler> attention_ops();
std::span<const OpHandler> contraction_ops();
std::span<const OpHandler> control_flow_ops();
std::span<const OpHandler> convolution_ops();
std::span<const OpHandler> creation_ops();
std::span<const OpHandler> data_dependent_ops();
std::span<const OpHandler> elementwise_ops();
std::span<const OpHandler> image_ops();
std::span<const OpHandler> indexing_ops();
std::span<const OpHandler> linalg_ops();
std::span<const OpHandler> loss_ops();
std::span<const OpHandler> microsoft_attention_ops();
std::span<const OpHandler> microsoft_group_query_ops();
std::span<const OpHandler> microsoft_ops();
std::span<const OpHandler> microsoft_quantization_ops();
std::span<const OpHandler> normalization_ops();
std::span<const OpHandler> optimizer_ops();
std::span<const OpHandler> ordering_ops();
std::span<const OpHandler> padding_ops();
std::span<const OpHandler> quantization_ops();
std::span<const OpHandler> random_ops();
std::span<const OpHandler> recurrent_ops();
std::span<const OpHandler> reduction_ops();
std::span<const OpHandler> resize_ops();
std::span<const OpHandler> scan_ops();
std::span<const OpHandler> sequence_ops();
std::span<const OpHandler> shape_ops();
std::span<const OpHandler> signal_ops();
std::span<const OpHandler> text_ops();
std::span<const OpHandler> window_ops();

// Null for ops that have no meaning here.
const OpHandler* find_op(std::string_view domain, std::string_view name, int opset);
// The newest version of the operator set ai.onnx that is known.
inline constexpr int kNewestOpset = 28;

class ModelProto;
class Functions;
// Throws one UserError that lists, with counts and the names of nodes, every op of the graph, its
// subgraphs and the functions it calls that is not supported.
void check_supported(const ModelProto& model, const Functions& functions,
                     const std::string& source);

}  // namespace spmd::onnx
