#include "ir/custom_call_remedies.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spmd {
namespace {

struct RemedyOfKind {
  const char* remedy;
  std::vector<std::string_view> parts;  // of targets; none: all
};

// A target is of the first kind that has a part of it.
const std::array<RemedyOfKind, 5>& remedies_by_kind() {
  static const std::array<RemedyOfKind, 5> kKinds = {{
      {"callbacks into Python (jax.debug.print, pure_callback, io_callback): remove them from the "
       "step; what it returns can be printed",
       {"callback"}},
      {"Cholesky factors and triangular solves: export for a platform that has ops for them: "
       "jax.export.export(f, platforms=[\"tpu\"]), or jax.jit(f).trace(...).lower("
       "lowering_platforms=(\"tpu\",))",
       {"potrf", "trsm"}},
      {"other linear algebra (LU, QR, eigenvalues, singular values): StableHLO has no op for it: "
       "compute it outside of the step, or with Cholesky factors and triangular solves",
       {"lapack", "cusolver", "cublas", "hipsolver", "cu_lu", "hip_lu", "LuDecomposition", "Eigh",
        "Householder", "Qr"}},
      {"kernels for a device (Pallas, Triton): export the same in jax.numpy",
       {"triton", "mosaic", "tpu_custom_call"}},
      {"export the program without them", {}},
  }};
  return kKinds;
}

const char* remedy_of(std::string_view target) {
  for (const RemedyOfKind& kind : remedies_by_kind()) {
    const auto has = [&](std::string_view part) { return target.find(part) != target.npos; };
    if (kind.parts.empty() || std::any_of(kind.parts.begin(), kind.parts.end(), has))
      return kind.remedy;
  }
  return "";
}

}  // namespace

std::string custom_call_remedies(const std::vector<std::string>& targets) {
  std::string text;
  for (const RemedyOfKind& kind : remedies_by_kind()) {
    const auto is_of_kind = [&](const std::string& t) { return remedy_of(t) == kind.remedy; };
    if (std::none_of(targets.begin(), targets.end(), is_of_kind)) continue;
    text += (text.empty() ? "" : "\n  ") + std::string(kind.remedy);
  }
  return text;
}

}  // namespace spmd
