#include "frontends/donations.h"

namespace spmd {

void pair_donations(Module& module) {
  Function& fn = module.main();
  std::vector<int> partners(fn.arguments().size(), -1);
  std::vector<bool> taken(fn.results().size(), false);
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const ArgumentInfo& info = fn.argument_info[i];
    if (info.aliased_result >= 0) return;
    if (!info.donated) continue;
    for (size_t r = 0; r < taken.size() && partners[i] < 0; ++r) {
      if (taken[r] || fn.type(fn.results()[r]) != fn.type(fn.arguments()[i])) continue;
      taken[r] = true;
      partners[i] = static_cast<int>(r);
    }
    if (partners[i] < 0) return;
  }
  for (size_t i = 0; i < partners.size(); ++i) {
    if (partners[i] < 0) continue;
    ArgumentInfo& info = fn.argument_info[i];
    info.aliased_result = partners[i];
    if (info.name.empty()) info.name = fn.result_info[static_cast<size_t>(partners[i])].name;
  }
}

}  // namespace spmd
