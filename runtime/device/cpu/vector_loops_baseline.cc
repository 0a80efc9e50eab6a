// The loops for any machine.
#include <cstddef>

#include "runtime/device/cpu/vector_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-math-errno,no-trapping-math")
#endif

#define SPMD_ISA_NAME "baseline"

namespace spmd::cpu {
namespace {
#include "runtime/device/cpu/vector_loops.inc"
#include "runtime/device/cpu/vector_tables.inc"
}  // namespace

extern const LoopTable* const kBaselineLoops;
const LoopTable* const kBaselineLoops = &kTable;

}  // namespace spmd::cpu
