#include "runtime/device/cpu/vector_loops.h"

#include "support/float_formats.h"

namespace spmd::cpu {

extern const LoopTable* const kBaselineLoops;
#if defined(__x86_64__)
extern const LoopTable* const kAvx2Loops;
#endif

namespace {

template <typename Out, typename In, Out (*kConvert)(In)>
void convert_loop(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<Out*>(out);
  const auto* a = static_cast<const In*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = kConvert(a[i]);
}

template <uint8_t (*kNarrow)(float), float (*kWiden)(uint8_t)>
float round_float8(float x) {
  return kWiden(kNarrow(x));
}

template <uint8_t (*kNarrow)(float), float (*kWiden)(uint8_t)>
void add_float8(LoopTable& table, Packed format) {
  const int i = static_cast<int>(format);
  table.widen[i] = convert_loop<float, uint8_t, kWiden>;
  table.narrow[i] = convert_loop<uint8_t, float, kNarrow>;
  table.round[i] = convert_loop<float, float, round_float8<kNarrow, kWiden>>;
}

int8_t wrap_s2(int8_t x) { return static_cast<int8_t>(((x & 3) ^ 2) - 2); }
uint8_t wrap_u2(uint8_t x) { return x & 3; }

template <typename T, T (*kWrap)(T)>
void add_integers(LoopTable& table, Packed format) {
  const int i = static_cast<int>(format);
  table.widen[i] = table.narrow[i] = table.round[i] = convert_loop<T, T, kWrap>;
}

const LoopTable& best_of_machine() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2"))
    return *kAvx2Loops;
#endif
  return *kBaselineLoops;
}

}  // namespace

const LoopTable& loops() {
  static const LoopTable table = [] {
    LoopTable result = best_of_machine();
#define SPMD_ADD(Type, name) add_float8<float_to_##name, name##_to_float>(result, Packed::k##Type);
    SPMD_BYTE_FLOATS(SPMD_ADD)
#undef SPMD_ADD
    add_integers<int8_t, wrap_s2>(result, Packed::kS2);
    add_integers<uint8_t, wrap_u2>(result, Packed::kU2);
    return result;
  }();
  return table;
}

}  // namespace spmd::cpu
