// The kernels that do not depend on the program, compiled when spmd is built. By op family.
#include "runtime/device/cuda/kernels/convolution.cuh"
#include "runtime/device/cuda/kernels/indexing.cuh"
#include "runtime/device/cuda/kernels/normal.cuh"
#include "runtime/device/cuda/kernels/random.cuh"
#include "runtime/device/cuda/kernels/scatter.cuh"
#include "runtime/device/cuda/kernels/window.cuh"
