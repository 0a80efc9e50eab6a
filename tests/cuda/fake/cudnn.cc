// A stand-in for cuDNN that convolves, on the host. Without SPMD_FAKE_CUDNN_VERSION it is one that
// is too old.
//
// Of its engines the first, which is the fastest, rounds to TF32 and the second adds up in any
// order: a value tells when one of them is taken.
#include <cstddef>
#include <cstdlib>

extern "C" size_t cudnnGetVersion() {
  const char* text = std::getenv("SPMD_FAKE_CUDNN_VERSION");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 91001;
}

#if SPMD_HAVE_CUDNN
#include <cuda.h>
#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "support/float_formats.h"

extern "C" void spmd_fake_enqueue(CUstream stream, std::function<void()> work, double microseconds);

namespace spmd::fake {
namespace {

struct Engine {
  std::vector<cudnnBackendNumericalNote_t> notes;
  int64_t workspace_bytes;
  double microseconds;
};

const std::vector<Engine>& engines_of(bool is_wide) {
  static const std::vector<Engine> wide = {
      {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, 0, 1000},
      {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0, 1200},
      {{}, 0, 3000},
      {{}, 1000, 2000}};
  static const std::vector<Engine> narrow = {{{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 2000, 2000},
                                             {{CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, 0, 1200},
                                             {{}, 0, 3000}};
  return is_wide ? wide : narrow;
}

struct Attribute {
  int64_t count = 0;
  std::vector<char> bytes;

  template <typename T>
  std::vector<T> as() const {
    std::vector<T> values(static_cast<size_t>(count));
    if (count > 0) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;

  template <typename T>
  std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    return found != attributes.end() ? found->second.as<T>() : std::vector<T>();
  }
  template <typename T>
  T one(cudnnBackendAttributeName_t name) const {
    return all<T>(name).at(0);
  }
  const Descriptor& part(cudnnBackendAttributeName_t name) const {
    return *one<const Descriptor*>(name);
  }
};

std::deque<Descriptor>& descriptors() {  // one may be destroyed before another that names it
  static std::deque<Descriptor> all;
  return all;
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;
  }
}

struct Tensor {
  std::vector<int64_t> dims, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int64_t uid = 0;
  char* data = nullptr;

  explicit Tensor(const Descriptor& from)
      : dims(from.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(from.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)),
        type(from.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        uid(from.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)) {}

  int64_t at(const std::vector<int64_t>& index) const {
    int64_t sum = 0;
    for (size_t d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
    return sum;
  }
  bool is_wide() const { return type == CUDNN_DATA_FLOAT; }
  float get(int64_t i) const {
    if (is_wide()) return reinterpret_cast<const float*>(data)[i];
    const uint16_t bits = reinterpret_cast<const uint16_t*>(data)[i];
    return type == CUDNN_DATA_HALF ? f16_to_float(bits) : bf16_to_float(bits);
  }
  void set(int64_t i, float value) const {
    if (is_wide()) {
      reinterpret_cast<float*>(data)[i] = value;
    } else {
      reinterpret_cast<uint16_t*>(data)[i] =
          type == CUDNN_DATA_HALF ? float_to_f16(value) : float_to_bf16(value);
    }
  }
};

enum class Result { kY, kX, kW };

struct Convolution {
  Result result;
  Tensor x, w, y;
  std::vector<int64_t> pre, post, stride, dilation;
  bool is_reversed;
};

Convolution convolution_of(const Descriptor& graph) {
  const Descriptor& op = graph.part(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const auto make = [&](Result result, auto x, auto w, auto y, auto description) {
    const Descriptor& c = op.part(description);
    return Convolution{
        result,
        Tensor(op.part(x)),
        Tensor(op.part(w)),
        Tensor(op.part(y)),
        c.all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
        c.all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
        c.all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
        c.all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS),
        c.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CONVOLUTION};
  };
  if (op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
    return make(Result::kX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
  if (op.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR)
    return make(Result::kW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
  return make(Result::kY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
}

// What cuDNN requires of a convolution.
bool is_sound(const Convolution& c) {
  if (c.x.dims[0] != c.y.dims[0] || c.w.dims[0] != c.y.dims[1] || c.x.dims[1] % c.w.dims[1] != 0)
    return false;
  for (size_t s = 0; s < c.stride.size(); ++s) {
    if (c.pre[s] < 0 || c.post[s] < 0 || c.stride[s] < 1 || c.dilation[s] < 1) return false;
    const int64_t room =
        c.x.dims[s + 2] + c.pre[s] + c.post[s] - (c.w.dims[s + 2] - 1) * c.dilation[s] - 1;
    if (room < 0 || c.y.dims[s + 2] != 1 + room / c.stride[s]) return false;
  }
  return true;
}

template <typename Visit>
void for_each(const std::vector<int64_t>& shape, const Visit& visit) {
  std::vector<int64_t> index(shape.size());
  size_t d = shape.size();
  do {
    visit(index);
    for (d = shape.size(); d > 0 && ++index[d - 1] == shape[d - 1]; --d) index[d - 1] = 0;
  } while (d > 0);
}

float to_tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits &= ~0x1fffU;
  std::memcpy(&value, &bits, 4);
  return value;
}

void convolve(const Convolution& c, bool rounds) {
  const Tensor& to = c.result == Result::kY ? c.y : c.result == Result::kX ? c.x : c.w;
  std::map<int64_t, double> sums;
  for_each(to.dims, [&](const auto& index) { sums[to.at(index)] = 0; });
  const int64_t groups = c.x.dims[1] / c.w.dims[1];
  std::vector<int64_t> taps = c.w.dims;
  taps[0] = 1;
  const auto value = [&](const Tensor& tensor, int64_t at) {
    return static_cast<double>(rounds ? to_tf32(tensor.get(at)) : tensor.get(at));
  };
  for_each(c.y.dims, [&](const auto& image) {
    for_each(taps, [&](const auto& tap) {
      auto from = image, weight = tap;
      from[1] = image[1] / (c.y.dims[1] / groups) * c.w.dims[1] + tap[1];
      weight[0] = image[1];
      for (size_t d = 2; d < image.size(); ++d) {
        from[d] = image[d] * c.stride[d - 2] + tap[d] * c.dilation[d - 2] - c.pre[d - 2];
        if (from[d] < 0 || from[d] >= c.x.dims[d]) return;
        if (c.is_reversed) weight[d] = c.w.dims[d] - 1 - tap[d];
      }
      const int64_t x = c.x.at(from), w = c.w.at(weight), y = c.y.at(image);
      if (c.result == Result::kY) sums[y] += value(c.x, x) * value(c.w, w);
      if (c.result == Result::kX) sums[x] += value(c.y, y) * value(c.w, w);
      if (c.result == Result::kW) sums[w] += value(c.x, x) * value(c.y, y);
    });
  });
  for (const auto& [at, sum] : sums) to.set(at, static_cast<float>(sum));
}

// Engines of a configuration or a plan.
const Descriptor& engine_of(const Descriptor& descriptor) {
  const bool is_plan = descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
  const Descriptor& config =
      is_plan ? descriptor.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) : descriptor;
  return config.part(CUDNN_ATTR_ENGINECFG_ENGINE);
}

const std::vector<Engine>& engines_for(const Descriptor& graph) {
  return engines_of(convolution_of(graph).y.is_wide());
}

const Engine& facts_of(const Descriptor& engine) {
  return engines_for(engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH))
      .at(static_cast<size_t>(engine.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)));
}

template <typename T>
Attribute attribute_of(const std::vector<T>& values) {
  Attribute attribute{static_cast<int64_t>(values.size()), {}};
  const auto* bytes = reinterpret_cast<const char*>(values.data());
  attribute.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return attribute;
}

// A configuration for each engine.
Attribute results_of(const Descriptor& heuristics) {
  const auto graph = heuristics.one<const Descriptor*>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  std::vector<const Descriptor*> configs;
  for (size_t i = 0; i < engines_for(*graph).size(); ++i) {
    Descriptor& engine =
        descriptors().emplace_back(Descriptor{CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}});
    engine.attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = attribute_of(std::vector{graph});
    engine.attributes[CUDNN_ATTR_ENGINE_GLOBAL_INDEX] =
        attribute_of(std::vector{static_cast<int64_t>(i)});
    Descriptor& config =
        descriptors().emplace_back(Descriptor{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {}});
    config.attributes[CUDNN_ATTR_ENGINECFG_ENGINE] =
        attribute_of(std::vector<const Descriptor*>{&engine});
    configs.push_back(&config);
  }
  return attribute_of(configs);
}

// What the library says by itself, or what it was told.
Attribute asked(const Descriptor& of, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return results_of(of);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return attribute_of(facts_of(of).notes);
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return attribute_of(std::vector{facts_of(engine_of(of)).workspace_bytes});
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      return attribute_of(std::vector<int32_t>{0});
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return attribute_of(std::vector{static_cast<int64_t>(engines_for(of).size())});
    default:
      const auto found = of.attributes.find(name);
      return found != of.attributes.end() ? found->second : Attribute();
  }
}

struct Handle {
  cudaStream_t stream = nullptr;
};

}  // namespace
}  // namespace spmd::fake

using namespace spmd::fake;

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<Handle*>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = reinterpret_cast<Handle*>(handle)->stream;
  return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t) { return "refused"; }
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) *message = 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor =
      reinterpret_cast<cudnnBackendDescriptor_t>(&descriptors().emplace_back(Descriptor{type, {}}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  const auto* bytes = static_cast<const char*>(values);
  reinterpret_cast<Descriptor*>(descriptor)->attributes[name] = {
      count, {bytes, bytes + static_cast<size_t>(count) * size_of(type)}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested,
                                       int64_t* count, void* values) {
  const Attribute found = asked(*reinterpret_cast<const Descriptor*>(descriptor), name);
  if (count != nullptr) *count = found.count;
  if (values == nullptr) return CUDNN_STATUS_SUCCESS;
  const auto given = static_cast<size_t>(std::min(found.count, requested));
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (given > 0) std::memcpy(values, found.bytes.data(), given * size_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  const auto parts = found.as<const Descriptor*>();
  for (size_t i = 0; i < given; ++i)
    static_cast<Descriptor**>(values)[i]->attributes = parts[i]->attributes;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const auto& of = *reinterpret_cast<const Descriptor*>(descriptor);
  if (of.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR && !is_sound(convolution_of(of)))
    return CUDNN_STATUS_BAD_PARAM;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const auto& given = *reinterpret_cast<const Descriptor*>(pack);
  const Descriptor& engine = engine_of(*reinterpret_cast<const Descriptor*>(plan));
  const Engine& facts = facts_of(engine);
  Convolution c = convolution_of(engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  const auto uids = given.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = given.all<char*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < uids.size(); ++i)
    for (Tensor* tensor : {&c.x, &c.w, &c.y})
      if (tensor->uid == uids[i]) tensor->data = data[i];
  for (const Tensor* tensor : {&c.x, &c.w, &c.y})
    if (tensor->data == nullptr || reinterpret_cast<uintptr_t>(tensor->data) % 16 != 0)
      return CUDNN_STATUS_BAD_PARAM;
  char* workspace = given.one<char*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (workspace == nullptr && facts.workspace_bytes > 0) return CUDNN_STATUS_BAD_PARAM;
  const bool rounds = facts.notes.size() > 1;
  spmd_fake_enqueue(
      reinterpret_cast<CUstream>(reinterpret_cast<Handle*>(handle)->stream),
      [=] {
        if (facts.workspace_bytes > 0)  // it is the library's
          std::memset(workspace, 0x5a, static_cast<size_t>(facts.workspace_bytes));
        convolve(c, rounds);
      },
      facts.microseconds);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
#endif
