#include "support/nvidia_libraries.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "support/error.h"

namespace spmd {

std::vector<std::string> nvidia_library_names(const std::string& name) {
  std::vector<std::string> names;
  if (const char* folder = std::getenv("SPMD_CUDA_LIBRARY_PATH"))
    names.push_back(std::string(folder) + "/" + name);
  names.push_back(name);
#ifdef SPMD_CUDA_LIBRARY_DIR
  names.push_back(SPMD_CUDA_LIBRARY_DIR "/" + name);
#endif
  return names;
}

const SharedLibrary& require_library(const std::string& name, const std::string& product) {
  static std::mutex mutex;
  static std::map<std::string, SharedLibrary> loaded;
  const std::lock_guard lock(mutex);
  auto place = loaded.find(name);
  if (place == loaded.end()) place = loaded.emplace(name, nvidia_library_names(name)).first;
  if (!place->second.loaded())
    throw UserError(name, fmt::format("not found: {}", place->second.error()),
                    fmt::format("install {}, set SPMD_CUDA_LIBRARY_PATH to the folder that holds "
                                "it, or pass --device cpu",
                                product));
  return place->second;
}

void* require_function(const SharedLibrary& library, const char* function) {
  void* found = library.find(function);
  if (found == nullptr)
    throw UserError(library.path(), fmt::format("is too old: it has no {}", function),
                    "install the version that spmd was built with, or newer");
  return found;
}

}  // namespace spmd
