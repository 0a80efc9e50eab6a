// What the fuzzers call: every reader of bytes that come from outside.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace spmd::testing {

struct FuzzTarget {
  std::string_view name;
  // Reads the bytes. A UserError is an answer; any other exception, and whatever the sanitizers
  // find, is a fault.
  void (*read)(std::string_view bytes);
  // Small inputs that are read without an error, for mutations to start from.
  std::vector<std::string> (*seeds)();
  // Words of the format, for mutations to insert.
  std::vector<std::string_view> words;
};

// Every reader, by name. A new one adds its file to this folder and its line to targets.cc.
std::span<const FuzzTarget> fuzz_targets();
// Null when there is none.
const FuzzTarget* find_fuzz_target(std::string_view name);

FuzzTarget config_target();
FuzzTarget hlo_proto_target();
FuzzTarget hlo_text_target();
FuzzTarget module_target();
FuzzTarget onnx_target();
FuzzTarget plan_target();
FuzzTarget program_target();
FuzzTarget sharding_target();
FuzzTarget stablehlo_target();
FuzzTarget tensors_target();
FuzzTarget vhlo_target();

// StableHLO text: a handful of small modules that compile for one device or two, and with them a
// module of nearly every op.
std::vector<std::string> small_modules();
std::vector<std::string> seed_modules();

}  // namespace spmd::testing
