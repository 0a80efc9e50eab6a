// The kernels of kernels/, which do not depend on the program.
#pragma once

#include <map>
#include <string>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

class Library {
 public:
  explicit Library(const Gpu& gpu);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // A kernel by its name; it is there.
  CUfunction find(const std::string& name);

 private:
  const Gpu& gpu_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> functions_;
};

}  // namespace spmd::cuda
