// What libFuzzer, and driver.cc in its place, call. SPMD_FUZZ_TARGET names the reader.
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/run_target.h"

namespace {

const spmd::testing::FuzzTarget& target() {
  static const auto* found = spmd::testing::find_fuzz_target(SPMD_FUZZ_TARGET);
  return *found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string fault =
      spmd::testing::fault_of(target(), {reinterpret_cast<const char*>(data), size});
  if (fault.empty()) return 0;
  fmt::print(stderr, "fault: {}\n", fault);
  std::abort();
}
