// Runs one step of a Plan on buffers of the test.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/device/cpu/kernel.h"

namespace spmd::cpu {

using Dims = std::vector<int64_t>;

inline void assign(google::protobuf::RepeatedField<int64_t>* field, const Dims& values) {
  field->Assign(values.begin(), values.end());
}

inline Dims row_major_strides(const Dims& shape) {
  Dims strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

// Visits every index of a shape in row-major order.
template <typename Visit>
void for_each_index(const Dims& shape, Visit visit) {
  for (int64_t size : shape)
    if (size == 0) return;
  Dims index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t d = shape.size();
    while (d-- > 0) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

class KernelBench {
 public:
  explicit KernelBench(uint64_t seed = 1) : random(seed) {}

  // A new buffer with `elements`; returns its number.
  template <typename T>
  int add(const std::vector<T>& elements) {
    std::vector<std::byte> bytes(elements.size() * sizeof(T) + 64);
    std::memcpy(bytes.data(), elements.data(), elements.size() * sizeof(T));
    buffers.push_back(std::move(bytes));
    return static_cast<int>(buffers.size()) - 1;
  }
  template <typename T>
  T* data(int buffer) {
    return reinterpret_cast<T*>(buffers[static_cast<size_t>(buffer)].data());
  }
  template <typename T>
  T at(const plan::View& view, const Dims& index) {
    int64_t offset = view.offset();
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * view.strides(static_cast<int>(d));
    T value;
    std::memcpy(&value, data<T>(view.buffer()) + offset, sizeof value);
    return value;
  }

  static plan::View view(int buffer, plan::DType dtype, const Dims& shape, Dims strides = {},
                         int64_t offset = 0) {
    if (strides.empty()) strides = row_major_strides(shape);
    plan::View result;
    result.set_buffer(buffer);
    result.set_dtype(dtype);
    result.set_offset(offset);
    for (int64_t stride : strides) result.add_strides(stride);
    for (int64_t size : shape) result.add_shape(size);
    return result;
  }
  template <typename T>
  plan::View dense(plan::DType dtype, const Dims& shape, const std::vector<T>& elements) {
    return view(add(elements), dtype, shape);
  }
  template <typename T>
  plan::View scalar(plan::DType dtype, T value) {
    return dense(dtype, {}, std::vector<T>{value});
  }

  // A view of `shape` with permuted, padded, sometimes reversed dimensions over a new buffer that
  // `element()` fills.
  template <typename T, typename Element>
  plan::View random_view(plan::DType dtype, const Dims& shape, Element element,
                         bool may_broadcast = false) {
    std::vector<size_t> order(shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random);
    Dims strides(shape.size());
    int64_t stride = pick(1, 3) == 3 ? 2 : 1, offset = pick(0, 3);
    for (size_t k = order.size(); k-- > 0;) {
      const size_t d = order[k];
      if (may_broadcast && pick(0, 4) == 0) continue;  // stride 0
      strides[d] = stride;
      stride *= shape[d] + (pick(0, 2) == 0 ? 1 : 0);
      if (pick(0, 4) == 0 && shape[d] > 0) {
        offset += strides[d] * (shape[d] - 1);
        strides[d] = -strides[d];
      }
    }
    std::vector<T> elements(static_cast<size_t>(stride + 8));
    for (T& e : elements) e = element();
    return view(add(elements), dtype, shape, strides, offset);
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  float uniform() { return std::uniform_real_distribution<float>(-2, 2)(random); }

  void run(const plan::Step& step) {
    LoadContext load;
    const KernelPtr kernel = make_kernel(step, load);
    std::vector<std::byte*> table;
    for (auto& buffer : buffers) table.push_back(buffer.data());
    void* workspace =
        std::aligned_alloc(64, static_cast<size_t>((load.workspace_bytes + 127) / 64 * 64));
    // Twice: a kernel must leave itself ready for the next step.
    kernel->run({table.data(), static_cast<std::byte*>(workspace)});
    if (repeat) kernel->run({table.data(), static_cast<std::byte*>(workspace)});
    std::free(workspace);
  }

  std::mt19937_64 random;
  bool repeat = true;
  std::vector<std::vector<std::byte>> buffers;
};

// Builds scalar programs by hand.
struct Scalars {
  plan::ScalarProgram program;

  int input(plan::DType dtype) {
    program.add_inputs(dtype);
    return program.inputs_size() - 1;
  }
  int op(plan::ScalarOp op, plan::DType dtype, std::vector<int> args, int64_t immediate = 0) {
    plan::Instruction* instruction = program.add_instructions();
    instruction->set_op(op);
    instruction->set_dtype(dtype);
    instruction->set_immediate(immediate);
    for (int arg : args) instruction->add_args(arg);
    return program.inputs_size() + program.instructions_size() - 1;
  }
  int compare(plan::Comparison comparison, int a, int b) {
    const int result = op(plan::COMPARE, plan::BOOL, {a, b});
    program.mutable_instructions(program.instructions_size() - 1)->set_comparison(comparison);
    return result;
  }
  template <typename T>
  int constant(plan::DType dtype, T value) {
    const int result = op(plan::CONSTANT, dtype, {});
    program.mutable_instructions(program.instructions_size() - 1)
        ->set_constant(&value, sizeof value);
    return result;
  }
  Scalars& returns(std::vector<int> registers) {
    for (int reg : registers) program.add_outputs(reg);
    return *this;
  }
};

}  // namespace spmd::cpu
