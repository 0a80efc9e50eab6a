#include "tests/cuda/fake/kernels.h"

#include <map>
#include <tuple>
#include <utility>

// What CUDA's compiler would declare; the threads of a block are fibres.
#include "tests/codegen/cuda_shim.h"
static shim::Index blockDim;
using std::min;

#include "runtime/device/cuda/kernels/library.cu"

namespace spmd::fake {
namespace {

// Threads without barriers run one after the other, the last one first: what they do must not
// depend on their order.
template <typename Body>
void run_threads(unsigned blocks, unsigned threads, const Body& body) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (unsigned b = blocks; b-- > 0;) {
    blockIdx.x = b;
    for (unsigned t = threads; t-- > 0;) {
      threadIdx.x = t;
      body();
    }
  }
}

template <typename... Parameters, size_t... I>
auto bound(void (*function)(Parameters...), void** arguments, std::index_sequence<I...>) {
  return
      [function, copies = std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[I])...)] {
        std::apply(function, copies);
      };
}

template <typename... Parameters>
Kernel plain(void (*function)(Parameters...)) {
  return [function](void** arguments) -> Launch {
    auto body = bound(function, arguments, std::index_sequence_for<Parameters...>());
    return [body](unsigned blocks, unsigned threads) { run_threads(blocks, threads, body); };
  };
}

template <typename... Parameters>
Kernel with_barriers(void (*function)(Parameters...)) {
  return [function](void** arguments) -> Launch {
    auto body = bound(function, arguments, std::index_sequence_for<Parameters...>());
    return [body](unsigned blocks, unsigned threads) {
      blockDim.x = threads;
      shim::launch(blocks, static_cast<int>(threads), body);
    };
  };
}

std::map<std::string, Kernel> all_kernels() {
  using namespace spmd::cuda;
  std::map<std::string, Kernel> kernels;
#define SPMD_ADD(name) kernels.emplace(#name, plain(&name));
#define SPMD_ADD_MOVES(bytes, type) SPMD_ADD(copy_##bytes) SPMD_ADD(gather_##bytes)
#define SPMD_ADD_TYPE(name, type) \
  SPMD_ADD(scatter_##name) SPMD_ADD(reduce_window_##name) SPMD_ADD(select_and_scatter_##name)
  SPMD_SIZES(SPMD_ADD_MOVES)
  SPMD_TYPES(SPMD_ADD_TYPE)
  SPMD_ADD(convert)
  SPMD_ADD(draw_normal)
  SPMD_ADD(convolution_f16)
  SPMD_ADD(convolution_bf16)
  SPMD_ADD(convolution_f32)
  SPMD_ADD(convolution_f64)
  SPMD_ADD(scatter_keys)
  SPMD_ADD(sort_across_blocks)
  SPMD_ADD(random_threefry)
  SPMD_ADD(random_philox)
  SPMD_ADD(random_advance)
  kernels.emplace("sort_within_blocks", with_barriers(&sort_within_blocks));
  return kernels;
}

}  // namespace

const Kernel* find_kernel(const std::string& name) {
  static const std::map<std::string, Kernel> kernels = all_kernels();
  const auto place = kernels.find(name);
  return place == kernels.end() ? nullptr : &place->second;
}

}  // namespace spmd::fake
