// How often a test repeats itself with other random inputs.
#pragma once

namespace spmd::testing {

// `count`, or a tenth of it under a sanitizer, which makes programs about ten times slower.
constexpr int repetitions(int count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return count / 10;
#else
  return count;
#endif
}

}  // namespace spmd::testing
