// RunConfig: what a run is asked for, from a YAML file and from flags of the same names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sharding/annotations/rules.h"

namespace spmd {

enum class Progress : uint8_t { kAuto, kOn, kOff };  // kAuto: when stdout is a terminal

// Absent: not said; the defaults are those of whoever reads the field.
struct LogConfig {
  std::optional<int64_t> every;      // steps between lines
  std::optional<std::string> jsonl;  // file for one JSON object a step
  std::optional<Progress> progress;
};

struct RunConfig {
  std::optional<MeshSpec> mesh;           // mesh, --mesh
  std::optional<ShardingRules> sharding;  // its own `mesh` stays empty
  std::optional<int64_t> steps;           // train.steps, --steps
  std::optional<std::string> state;       // safetensors file with the initial state
  std::optional<std::string> batches;     // batches or data.path: file with one batch a step
  std::optional<std::string> out;         // safetensors file for the final state
  std::optional<std::string> report;      // folder
  LogConfig log;
};

// Reads
//   mesh: {axes: {data: -1, model: 2}}      sharding: {rules: [...], ...}
//   train: {steps: 200}
//   state: state.safetensors
//   batches: batches.safetensors            # or data: {path: batches.safetensors}
//   out: final.safetensors
//   report: out/
//   log: {every: 1, jsonl: metrics.jsonl, progress: auto}
// all optional. Paths are relative to the current folder, as those of flags are, and not to the
// file's. Throws UserError with file:line for an unknown key (with the nearest known one), a
// key that occurs twice and a malformed value.
RunConfig parse_run_config(std::string_view yaml, const std::string& source);

// The same from a file. Throws UserError when it cannot be read.
RunConfig read_run_config(const std::string& path);

// What `flags` says wins over what `file` says.
RunConfig merge(RunConfig file, RunConfig flags);

// YAML that parse_run_config reads back.
std::string print_config(const RunConfig& config);

}  // namespace spmd
