// The machine's C++ compiler, which makes shared objects of emitted units.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace spmd::codegen::kernels {

class HostCompiler {
 public:
  // $CXX, which may have arguments ("ccache g++ -O1"), or else the first of c++, g++ and clang++
  // that PATH has; `error` says why there is none.
  static std::optional<HostCompiler> find(std::string* error);

  // All that its output depends on beside the source: the programs' paths, sizes and times of
  // change, flags, and this CPU's instruction sets.
  const std::string& identity() const { return identity_; }

  // The most units that are compiled side by side: one for each core, up to a limit.
  static size_t most_units();

  // The shared object of one or more units; nullopt when the compiler fails or writes none, `error`
  // then quotes what it says in one line.
  std::optional<std::string> compile(const std::vector<std::string>& units,
                                     std::string* error) const;

 private:
  std::vector<std::string> command_;  // all but the names of files
  std::string identity_;
};

}  // namespace spmd::codegen::kernels
