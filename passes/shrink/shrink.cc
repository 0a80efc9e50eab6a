#include "passes/shrink/shrink.h"

#include "ir/verifier.h"
#include "passes/dce.h"
#include "passes/shrink/edits.h"
#include "passes/shrink/well_defined.h"

namespace spmd {
namespace {

using shrinking::Edit;

void drop_unused_arguments(Function& fn) {
  for (size_t i = fn.arguments().size(); i-- > 0;) {
    if (!fn.value(fn.arguments()[i]).uses.empty()) continue;
    fn.erase_block_argument(fn.body(), i);
    fn.argument_info.erase(fn.argument_info.begin() + static_cast<ptrdiff_t>(i));
  }
}

// Makes an edited module whole again; false when it cannot be.
bool tidy(Module& module) {
  PassContext context;
  try {
    verify(module);
    dce_pass().run(module, context);
    drop_unused_arguments(module.main());
    module.main().compact();
    module.drop_unreachable_functions();
    verify(module);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

class Shrinker {
 public:
  Shrinker(Module module, const std::function<bool(const Module&)>& fails,
           const ShrinkOptions& options)
      : module_(std::move(module)),
        well_defined_(shrinking::is_well_defined(module_)),
        fails_(fails),
        options_(options) {}

  Module run() {
    while (round()) {
    }
    return std::move(module_);
  }

 private:
  using Edits = std::vector<Edit> (*)(const Module&);

  // Everything once; whether anything worked.
  bool round() {
    bool smaller = repeat(shrinking::result_edits);
    for (size_t count = module_.main().num_live_ops() / 2; count >= 1; count /= 2) {
      while (try_each(shrinking::cut_edits(module_, count))) smaller = true;
    }
    for (Edits edits : {shrinking::bypass_edits, shrinking::argument_edits,
                        shrinking::sharding_edits, shrinking::mesh_edits, shrinking::size_edits,
                        shrinking::element_edits, shrinking::name_edits}) {
      smaller = repeat(edits) || smaller;
    }
    return smaller;
  }

  bool repeat(Edits edits) {
    bool smaller = false;
    while (try_each(edits(module_))) smaller = true;
    return smaller;
  }

  // Makes the first edit that works.
  bool try_each(const std::vector<Edit>& edits) {
    for (const Edit& edit : edits) {
      if (options_.stop && options_.stop()) return false;
      Module candidate = module_.clone();
      if (!edit(candidate) || !tidy(candidate)) continue;
      if (well_defined_ && !shrinking::is_well_defined(candidate)) continue;
      if (!fails_(candidate)) continue;
      module_ = std::move(candidate);
      if (options_.progress) options_.progress(module_);
      return true;
    }
    return false;
  }

  Module module_;
  // No step may lead from a program that means one thing to one that may mean several.
  const bool well_defined_;
  const std::function<bool(const Module&)>& fails_;
  const ShrinkOptions& options_;
};

}  // namespace

Module shrink(Module module, const std::function<bool(const Module&)>& fails,
              const ShrinkOptions& options) {
  return Shrinker(std::move(module), fails, options).run();
}

}  // namespace spmd
