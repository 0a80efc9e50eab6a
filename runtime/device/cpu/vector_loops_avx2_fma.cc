// The loops for x86 with AVX2 and FMA. Contracting into fused multiply-adds happens inside the
// elementary functions only (no other loop multiplies and adds), whose stated error bounds hold
// either way.
#include <cstddef>

#include "runtime/device/cpu/vector_loops.h"

#if defined(__x86_64__)

#define SPMD_ISA_NAME "avx2"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-math-errno,no-trapping-math")
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif

namespace spmd::cpu {
namespace {
#include "runtime/device/cpu/vector_loops.inc"
#include "runtime/device/cpu/vector_tables.inc"
}  // namespace

extern const LoopTable* const kAvx2Loops;
const LoopTable* const kAvx2Loops = &kTable;

}  // namespace spmd::cpu

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
