// The CUDA dialect: blocks and threads.
#include "codegen/kernels/cuda_attention.h"
#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/prelude.h"

namespace spmd::codegen::kernels {

// As many blocks as one member has are for each.
void CudaPrinter::choose_member() {
  line("void* const* const own = args.p + blockIdx.x / {} * {};", launch_.blocks,
       kernel_.num_arguments);
  line("const uint32_t block = blockIdx.x % {};", launch_.blocks);
  block_ = "block";
  num_blocks_ = fmt::format("{}", launch_.blocks);
}

plan::Kernel CudaPrinter::print(const std::string& name) {
  const int arguments = kernel_.num_arguments, members = kernel_.members;
  open("extern \"C\" __global__ void __launch_bounds__({}) {}(const {}Args<{}> args)",
       launch_.threads, name, members > 1 ? "__grid_constant__ " : "", arguments * members);
  if (members > 1) choose_member();
  // Kernels with columns write to no buffer that they read: lower(). So loads need not wait for
  // stores of the turn before.
  body(members > 1 ? "own" : "args.p", kernel_.mapping == Mapping::kFlat ? "" : "__restrict__ ");
  close();
  plan::Kernel result;
  result.set_name(name);
  result.set_arguments(arguments * members);
  result.set_blocks(launch_.blocks * members);
  result.set_threads(launch_.threads);
  return result;
}

namespace {

class CudaDialect : public Dialect {
 public:
  plan::KernelModule::Target target() const override { return plan::KernelModule::CUDA; }
  std::string prelude() const override { return cuda_prelude(); }
  plan::Kernel emit(const Kernel& kernel, const std::string& name,
                    std::string& source) const override {
    return CudaPrinter(kernel, source).print(name);
  }
  std::string attention_prelude() const override { return cuda_attention_prelude(); }
  std::optional<plan::Kernel> emit_attention(const plan::Step& step, const std::string& name,
                                             std::string& source) const override {
    return emit_cuda_attention(step, name, source);
  }
};

}  // namespace

const Dialect& cuda_dialect() {
  static const CudaDialect dialect;
  return dialect;
}

}  // namespace spmd::codegen::kernels
