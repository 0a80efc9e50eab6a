// Products of matrices on a GPU.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device/cuda/blas.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

class CudaDevice;

class ProductKernel : public Kernel {
 public:
  // After CudaDevice::settle().
  virtual const MatmulChoice& choice() const = 0;
};

// The product of `dot` alone, or with `epilogue`, if it is not null, by the library. Null when the
// library cannot. `after_us`: as in CudaDevice::add_product().
std::unique_ptr<ProductKernel> make_product(const plan::Dot& dot, const plan::DotEpilogue* epilogue,
                                            CudaDevice& device, LoadContext& context,
                                            std::function<double()> after_us = {});

// Both forms of a product with its epilogue, of which the faster one runs: the library's epilogue,
// or the product and a kernel of ours; without such a kernel, the library's. Null when the product
// is not for the library.
KernelPtr make_dot_with_epilogue(const plan::Dot& dot, CudaDevice& device, LoadContext& context);

}  // namespace spmd::cuda
