#include "support/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace spmd {

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      link_map* map = nullptr;
      const bool known = ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
      path_ = known && map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : name;
      return;
    }
    const char* error = ::dlerror();
    if (error_.empty() && error != nullptr) error_ = error;
  }
}

void* SharedLibrary::find(const char* symbol) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

}  // namespace spmd
