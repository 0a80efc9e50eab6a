#include <set>

#include "runtime/plan/kernel_views.h"
#include "runtime/plan/races.h"
#include "runtime/plan/verifier.h"

namespace spmd::plan {

void Verifier::kernels() {
  const KernelModule& module = plan_.kernels();
  expect(KernelModule::Target_IsValid(module.target()), "kernels for a target that is not known");
  expect(module.kernels_size() == 0 || !module.code().empty(), "compiled kernels without code");
  for (const Kernel& kernel : module.kernels()) {
    expect(!kernel.name().empty(), "a compiled kernel without a name");
    expect(kernel.arguments() > 0, "a compiled kernel without arguments");
    if (module.target() == KernelModule::HOST) {
      expect(kernel.units() > 0 && kernel.parts() > 0 && kernel.parts() <= kernel.units(),
             "a compiled kernel whose units are out of range");
      continue;
    }
    expect(kernel.blocks() > 0 && kernel.blocks() < (int64_t{1} << 31) && kernel.threads() > 0 &&
               kernel.threads() <= 1024 && kernel.shared_bytes() >= 0,
           "a compiled kernel whose launch is out of range");
  }
}

void Verifier::kernel(const Step& step) {
  if (step.kernel() == 0) return;
  expect(can_have_kernel(step), "a compiled kernel for a step that has none");
  expect(step.kernel() > 0 && step.kernel() <= plan_.kernels().kernels_size(),
         "a compiled kernel that does not exist");
  const size_t views = kernel_views(plan_, step).size();
  const int arguments = plan_.kernels().kernels(step.kernel() - 1).arguments();
  if (static_cast<size_t>(arguments) != views)
    fail(fmt::format("a compiled kernel of {} arguments for {} views", arguments, views));
}

void Verifier::fused(const Fused& fused) {
  expect(fused.steps_size() > 0, "fuses no steps");
  std::set<int32_t> written;  // local buffers
  const auto is_local = [&](const View& view) {
    return plan_.buffers(view.buffer()).kind() == Buffer::LOCAL;
  };
  const auto reads = [&](const auto& views) {
    for (const View& view : views)
      expect(!is_local(view) || written.count(view.buffer()) > 0,
             "reads a local buffer that no step before has written");
  };
  const auto writes = [&](const auto& views) {
    for (const View& view : views)
      if (is_local(view)) written.insert(view.buffer());
  };
  in_fused_ = true;
  for (const Step& inner : fused.steps()) {
    expect(inner.kernel() == 0, "a kernel for one of the steps that are fused");
    if (inner.has_elementwise()) {
      elementwise(inner.elementwise());
      reads(inner.elementwise().inputs());
      writes(inner.elementwise().outputs());
    } else if (inner.has_reduce()) {
      reduce(inner.reduce());
      reads(inner.reduce().inputs());
      reads(inner.reduce().inits());
      writes(inner.reduce().outputs());
    } else {
      fail("fuses a step that is neither elementwise nor a reduction");
    }
  }
  in_fused_ = false;
}

void Verifier::grouped(const Grouped& grouped) {
  expect(grouped.steps_size() > 0, "groups no steps");
  const Step& first = grouped.steps(0);
  for (const Step& member : grouped.steps()) {
    expect(member.kernel() == 0, "a kernel for one of the steps that are grouped");
    if (member.has_elementwise())
      elementwise(member.elementwise());
    else if (member.has_reduce())
      reduce(member.reduce());
    else if (member.has_fused())
      fused(member.fused());
    else
      fail("groups a step that is neither elementwise nor a reduction, nor fused of those");
    expect(kernel_views(plan_, member).size() == kernel_views(plan_, first).size(),
           "groups steps that have not as many views each");
  }
  if (const auto race = find_race(plan_, grouped)) fail(*race);
}

}  // namespace spmd::plan
