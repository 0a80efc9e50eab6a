// Timed choices kept between runs: a start with all of them times nothing.
//
// An entry says in clear what it is of: the GPU, the versions of driver and library, and the
// problem. One that is damaged, or says something else than its name, is a miss, which notes()
// says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/device/cuda/blas.h"
#include "support/file_cache.h"

namespace spmd::cuda {

class TuningCache {
 public:
  // `folder` as FileCache has it. `gpu` outlives the cache.
  TuningCache(const Gpu& gpu, const std::string& folder);

  // How the library of this version computes the problem. Whether it has the algorithm, only the
  // library can tell (Matmul::accepts()).
  std::optional<MatmulChoice> find(const MatmulProblem& problem, size_t library_version);
  void put(const MatmulProblem& problem, size_t library_version, const MatmulChoice& choice);
  // Of what find() gave: it cannot be used after all, since it `fault`.
  void refuse(const std::string& fault);
  // How long something takes, in microseconds; `what` says all that it depends on but for the GPU.
  std::optional<double> find_time(const std::string& what);
  void put_time(const std::string& what, double microseconds);

  // Which of several named ways is the fastest; a name is one word.
  std::optional<std::string> find_choice(const std::string& what);
  void put_choice(const std::string& what, const std::string& name) { put_value(what, name); }

  // What people should know: "2 entries of ... are damaged, and are timed again".
  std::vector<std::string> notes() const;

 private:
  // The value of an entry that is really of `what`.
  std::optional<std::string> find_value(const std::string& what);
  void put_value(const std::string& what, const std::string& value);

  FileCache files_;
  std::string folder_;
  std::string machine_;  // the GPU and its driver
  int faults_ = 0;
  std::string first_fault_;
  bool wrote_ = false;
};

}  // namespace spmd::cuda
