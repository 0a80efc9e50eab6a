// The CUDA dialect: blocks and threads.
#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/emit.h"
#include "codegen/kernels/prelude.h"

namespace spmd::codegen::kernels {

plan::Kernel CudaPrinter::print(const std::string& name) {
  open("extern \"C\" __global__ void __launch_bounds__({}) {}(const Args<{}> args)",
       launch_.threads, name, kernel_.num_arguments);
  // Kernels with columns write to no buffer that they read: lower(). So loads need not wait for
  // stores of the turn before.
  body("args.p", kernel_.mapping == Mapping::kFlat ? "" : "__restrict__ ");
  close();
  plan::Kernel result;
  result.set_name(name);
  result.set_arguments(kernel_.num_arguments);
  result.set_blocks(launch_.blocks);
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
};

}  // namespace

const Dialect& cuda_dialect() {
  static const CudaDialect dialect;
  return dialect;
}

}  // namespace spmd::codegen::kernels
