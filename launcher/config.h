// RunConfig: what a run is asked for, from a YAML file and from flags of the same names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/annotations/rules.h"

namespace spmd {

// Absent: not said; what holds then is in launcher/settings.cc, or is for whoever reads the field.
struct RunConfig {
  std::optional<MeshSpec> mesh;             // mesh, --mesh
  std::optional<ShardingRules> sharding;    // its own `mesh` stays empty
  std::optional<int64_t> steps;             // train.steps
  std::optional<std::string> state;         // safetensors file with the initial state
  std::optional<std::string> init;          // random: draw what `state` lacks
  std::optional<std::string> batches;       // or data.path: file with one batch a step
  std::optional<std::string> out;           // safetensors file for the final state
  std::optional<std::string> report;        // folder
  std::optional<std::string> expected;      // check: file to compare with
  std::optional<std::string> tolerances;    // JSON file
  std::vector<std::string> dims;            // set-dim: NAME=SIZE
  std::vector<std::string> inputs;          // set-input: NAME=VALUE
  std::optional<std::string> save_plan;     // file
  std::optional<std::string> device;        // cpu, cuda, auto
  std::optional<std::string> codegen;       // auto, off
  std::optional<std::string> cache_dir;     // absent: FileCache::default_root()
  std::optional<std::string> explain;       // fusion
  std::optional<double> watchdog;           // seconds
  std::optional<double> compile_budget;     // seconds
  std::optional<int64_t> threads;           // of a rank
  std::optional<std::string> cuda_graphs;   // auto, on, off
  std::optional<int64_t> log_every;         // steps between lines
  std::optional<std::string> log_jsonl;     // file for one JSON object a step
  std::optional<std::string> log_progress;  // auto (a bar when stdout is a terminal), on, off
};

// Reads
//   mesh: {axes: {data: -1, model: 2}}      sharding: {rules: [...], ...}
//   train: {steps: 200}
//   state: state.safetensors
//   batches: batches.safetensors            # or data: {path: batches.safetensors}
//   log: {every: 1, jsonl: metrics.jsonl, progress: auto}
// and every other key of launcher/settings.h, all optional. Paths are relative to the current
// folder, as those of flags are, and not to the file's. Throws UserError with file:line for an
// unknown key (with the nearest known one), a key that occurs twice and a malformed value.
RunConfig parse_run_config(std::string_view yaml, const std::string& source);

// The same from a file. Throws UserError when it cannot be read.
RunConfig read_run_config(const std::string& path);

// What `flags` says wins over what `file` says.
RunConfig merge(RunConfig file, RunConfig flags);

// YAML that parse_run_config reads back.
std::string print_config(const RunConfig& config);

// The same for people: what is not said and has a value all the same follows in comments.
std::string describe_config(const RunConfig& config);

}  // namespace spmd
