#include "ir/verify/reductions.h"

namespace spmd::verifier {

void verify_reduction(const OpView& v) { require_reduction(v); }

}  // namespace spmd::verifier
