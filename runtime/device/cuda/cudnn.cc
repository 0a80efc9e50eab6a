#include "runtime/device/cuda/cudnn.h"

#if SPMD_HAVE_CUDNN
#include "runtime/device/cuda/cudnn_graph.h"
#include "support/error.h"
#include "support/nvidia_libraries.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the headers look their functions up in it
}

namespace spmd::cuda {
namespace {

// Older ones have flaws in attention's backward pass that cudnn-frontend refuses or works around.
constexpr size_t kOldestVersion = 91002;

std::string load_cudnn() {
  try {
    // cudnn-frontend asks the loader for it by name, which then finds this one.
    require_library(fmt::format("libcudart.so.{}", CUDART_VERSION / 1000),
                    "the CUDA runtime (libcudart of the CUDA Toolkit)");
    const SharedLibrary& library =
        require_library(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), "cuDNN");
    fe::cudnn_dlhandle = library.handle();
  } catch (const UserError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
  const size_t version = fe::detail::get_backend_version();
  if (version >= kOldestVersion) return "";
  return fmt::format("cuDNN is {}, but {} or newer is needed", cudnn_version_text(version),
                     cudnn_version_text(kOldestVersion));
}

}  // namespace

std::string cudnn_version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string why_no_cudnn() {
  static const std::string why = load_cudnn();
  return why;
}

size_t cudnn_version() { return why_no_cudnn().empty() ? fe::detail::get_backend_version() : 0; }

fe::DataType_t cudnn_type(plan::DType dtype) {
  switch (dtype) {
    case plan::BF16:
      return fe::DataType_t::BFLOAT16;
    case plan::F16:
      return fe::DataType_t::HALF;
    default:
      return fe::DataType_t::FLOAT;
  }
}

Cudnn::Cudnn(const Gpu& gpu) : gpu_(gpu) {
  expect(fe::detail::create_handle(&handle_));
  expect(fe::detail::set_stream(handle_, reinterpret_cast<cudaStream_t>(gpu.stream())));
}

Cudnn::~Cudnn() {
  graphs_.clear();
  if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
}

void Cudnn::expect(cudnnStatus_t status) const {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw UserError(gpu_.name(),
                    fmt::format("starting cuDNN failed with status {}", static_cast<int>(status)),
                    "see whether the driver is as new as cuDNN");
  }
}

std::shared_ptr<CudnnGraph> Cudnn::new_graph(plan::DType dtype) const {
  auto made = std::make_shared<CudnnGraph>();
  made->graph.set_io_data_type(cudnn_type(dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(gpu_.architecture());
  return made;
}

std::shared_ptr<Cudnn> make_cudnn(const Gpu& gpu) {
  return why_no_cudnn().empty() ? std::make_shared<Cudnn>(gpu) : nullptr;
}

}  // namespace spmd::cuda

#else

namespace spmd::cuda {

std::string why_no_cudnn() { return "this spmd-run was built without cudnn-frontend"; }

size_t cudnn_version() { return 0; }

std::shared_ptr<Cudnn> make_cudnn(const Gpu&) { return nullptr; }

}  // namespace spmd::cuda

#endif
