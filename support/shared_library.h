// A library that is looked for when the program runs, so that the program starts without it.
#pragma once

#include <string>
#include <vector>

namespace spmd {

class SharedLibrary {
 public:
  // The first of `names` that can be loaded; they may be paths. The library stays loaded until the
  // program ends. Not loaded: see error().
  explicit SharedLibrary(const std::vector<std::string>& names);

  bool loaded() const { return handle_ != nullptr; }
  // Where the library lies; empty when it is not loaded.
  const std::string& path() const { return path_; }
  // What the loader said of the first name.
  const std::string& error() const { return error_; }

  // The loader's own name for the library; null when it is not loaded.
  void* handle() const { return handle_; }
  // The function, or null.
  void* find(const char* symbol) const;

 private:
  void* handle_ = nullptr;
  std::string path_, error_;
};

}  // namespace spmd
