// One reader as a fuzzer: what libFuzzer, and driver.cc in its place, call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

// The reader whose function SPMD_FUZZ_TARGET names, for example hlo_text_target.
const spmd::testing::FuzzTarget& fuzz_target();

// Aborts when the reader does anything but read the bytes or refuse them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
