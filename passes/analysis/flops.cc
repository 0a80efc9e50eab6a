#include "passes/analysis/flops.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/analysis/trip_count.h"

namespace spmd {
namespace {

double elements(const Function& fn, ValueId value) {
  return static_cast<double>(fn.type(value).num_elements());
}

double attention_scores(const Function& fn, const Op& op) {
  const TensorType& query = fn.type(op.operands[0]);
  const auto queries =
      static_cast<double>(query.dim(0) * query.dim(1) * query.dim(2) * query.dim(3));
  return queries * static_cast<double>(fn.type(op.operands[1]).dim(1));
}

double of_dot(const Function& fn, const Op& op) {
  double depth = 1;
  for (int64_t dim : op.as<DotAttrs>().lhs_contracting) {
    depth *= static_cast<double>(fn.type(op.operands[0]).dim(dim));
  }
  return 2 * elements(fn, op.results[0]) * depth;
}

// Of attention's forward pass: queries by keys and probabilities by values; its backward pass has
// twice as many products, without those of queries and keys, which are the forward pass's.
double of_attention(const Function& fn, const Op& op) {
  const TensorType& value = fn.type(op.operands[2]);
  const int64_t head_sizes = fn.type(op.operands[0]).dim(4) + value.dim(3);
  const double forward = 2 * attention_scores(fn, op) * static_cast<double>(head_sizes);
  return op.code == OpCode::kAttention ? forward : 2 * forward;
}

// What attention does to each score: scaling, masking and the softmax; its derivative.
double of_softmax(const Function& fn, const Op& op) {
  return (op.code == OpCode::kAttention ? 7 : 5) * attention_scores(fn, op);
}

double of_convolution(const Function& fn, const Op& op) {
  const TensorType& kernel = fn.type(op.operands[1]);
  const int64_t features = kernel.dim(op.as<ConvolutionAttrs>().kernel_output_feature);
  const double depth = static_cast<double>(kernel.num_elements()) /
                       static_cast<double>(std::max<int64_t>(1, features));
  return 2 * elements(fn, op.results[0]) * depth;
}

double of_window(const Function& fn, const Op& op) {
  double window = 1;
  for (int64_t size : op.as<WindowAttrs>().size) window *= static_cast<double>(size);
  // Select and scatter compares a window per element of its source.
  const ValueId per = op.code == OpCode::kReduceWindow ? op.results[0] : op.operands[1];
  return window * elements(fn, per);
}

double of_sort(const Function& fn, const Op& op) {
  const Dims& shape = fn.type(op.operands[0]).shape;
  const int64_t dim =
      op.code == OpCode::kSort ? op.as<SortAttrs>().dim : static_cast<int64_t>(shape.size()) - 1;
  const auto length = static_cast<double>(shape[static_cast<size_t>(dim)]);
  return elements(fn, op.operands[0]) * std::max(1.0, std::ceil(std::log2(std::max(length, 1.0))));
}

double of_linalg(const Function& fn, const Op& op) {
  const TensorType& type = fn.type(op.operands[0]);
  const auto size = static_cast<double>(type.shape.back());
  if (op.code == OpCode::kCholesky) return static_cast<double>(type.num_elements()) * size / 3;
  if (op.code == OpCode::kTriangularSolve) return elements(fn, op.results[0]) * size;
  double length = 1;
  for (int64_t each : op.as<FftAttrs>().length) length *= static_cast<double>(each);
  const double points = std::max(elements(fn, op.operands[0]), elements(fn, op.results[0]));
  return 5 * points * std::log2(std::max(length, 2.0));
}

class Counter {
 public:
  Counter(const Module& module, bool contractions_only)
      : module_(module), contractions_only_(contractions_only) {}

  double block(const Function& fn, BlockId id) {
    double sum = 0;
    for_each_op(fn, id, [&](OpId inner) { sum += op(fn, inner); });
    return sum;
  }

  double op(const Function& fn, OpId id) {
    const Op& op = fn.op(id);
    const OpFamily family = family_of(op.code);
    if (contractions_only_ && family != OpFamily::kControlFlow && family != OpFamily::kCollective) {
      return contraction_flops(fn, op);
    }
    switch (family) {
      case OpFamily::kElementwise:
        // Converting is moving data.
        return op.code == OpCode::kConvert ? 0 : elements(fn, op.results[0]);
      case OpFamily::kContraction:
      case OpFamily::kConvolution:
        return contraction_flops(fn, op);
      case OpFamily::kAttention:
        return contraction_flops(fn, op) + of_softmax(fn, op);
      case OpFamily::kLinalg:
        return of_linalg(fn, op);
      case OpFamily::kReduction:
        return elements(fn, op.operands[0]);
      case OpFamily::kWindow:
        return of_window(fn, op);
      case OpFamily::kOrdering:
        return of_sort(fn, op);
      case OpFamily::kRandom:
        return elements(fn, op.results[1]);
      case OpFamily::kIndexing:
        return op.code == OpCode::kScatter ? elements(fn, op.operands.back()) : 0;
      case OpFamily::kControlFlow:
        return control_flow(fn, id);
      case OpFamily::kCollective:
        return op.code == OpCode::kManualComputation ? manual(fn, op) : 0;
      case OpFamily::kShape:
      case OpFamily::kExpanded:
        return 0;
    }
    return 0;
  }

 private:
  double manual(const Function& fn, const Op& op) {
    const AxisList& axes = op.as<ManualComputationAttrs>().manual_axes;
    return static_cast<double>(axes_size(axes, module_.mesh)) * block(fn, op.regions[0]);
  }

  double control_flow(const Function& fn, OpId id) {
    const Op& op = fn.op(id);
    switch (op.code) {
      case OpCode::kCall:
        return function(op.as<CallAttrs>().callee);
      case OpCode::kWhile: {
        const auto trips = static_cast<double>(trip_count(fn, id).value_or(1));
        return trips * block(fn, op.regions[1]) + (trips + 1) * block(fn, op.regions[0]);
      }
      case OpCode::kIf:
      case OpCode::kCase: {
        double dearest = 0;
        for (BlockId region : op.regions) dearest = std::max(dearest, block(fn, region));
        return dearest;
      }
      default:
        return 0;
    }
  }

  double function(int index) {
    const auto [entry, is_new] = functions_.emplace(index, 0.0);
    if (is_new) {
      const Function& fn = module_.function(index);
      const double sum = block(fn, fn.body());
      functions_[index] = sum;
      return sum;
    }
    return entry->second;
  }

  const Module& module_;
  const bool contractions_only_;
  std::unordered_map<int, double> functions_;
};

}  // namespace

double contraction_flops(const Function& fn, const Op& op) {
  if (op.code == OpCode::kDotGeneral) return of_dot(fn, op);
  if (op.code == OpCode::kConvolution) return of_convolution(fn, op);
  if (family_of(op.code) == OpFamily::kAttention) return of_attention(fn, op);
  return 0;
}

double contraction_flops(const Module& module) {
  return Counter(module, /*contractions_only=*/true).block(module.main(), module.main().body());
}

double flops(const Module& module) {
  const Function& main = module.main();
  return Counter(module, /*contractions_only=*/false).block(main, main.body());
}

double flops(const Module& module, const Function& fn, OpId id) {
  return Counter(module, /*contractions_only=*/false).op(fn, id);
}

}  // namespace spmd
