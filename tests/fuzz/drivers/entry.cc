#include "tests/fuzz/drivers/entry.h"

#include <cstdlib>

#include "tests/fuzz/run_target.h"

const spmd::testing::FuzzTarget& fuzz_target() {
  static const spmd::testing::FuzzTarget target = spmd::testing::SPMD_FUZZ_TARGET();
  return target;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string fault =
      spmd::testing::fault_of(fuzz_target(), {reinterpret_cast<const char*>(data), size});
  if (fault.empty()) return 0;
  fmt::print(stderr, "fault: {}\n", fault);
  std::abort();
}
