// Convolutions on a GPU, each by the fastest of what cuDNN has for it and a kernel of ours.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/device/kernel.h"

namespace spmd::cuda {

class TuningCache;

class ConvolutionStep : public Kernel {
 public:
  // The name of the way to take: timed on memory of its own, or what `known` has, by problem, or
  // the cache. `timed`: raised by one when something was timed.
  virtual std::string choose(TuningCache& cache, std::map<std::string, std::string>& known,
                             int& timed) = 0;
  // Takes it. Without it, which another version of cuDNN may be, our kernel is taken.
  virtual void use(const std::string& way) = 0;
  virtual bool is_by_library() const = 0;
  // Bytes that the way taken needs.
  virtual int64_t workspace_bytes() const = 0;
  // Why cuDNN was not asked; empty when it was.
  virtual const std::string& why_not_library() const = 0;
};

}  // namespace spmd::cuda
