// Pass: one rewrite of a module. A pass's id is its file's name, its test's name and its dump name.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/attention_target.h"
#include "collectives/planning/cost_model.h"
#include "ir/module.h"
#include "sharding/propagation/propagation.h"

namespace spmd {

// Something the user should know of: a full rematerialisation, a replicated op, ...
struct Remark {
  std::string pass;
  std::string place;  // the op's location
  std::string text;
};

// Remark::pass of what the program's reader remarks.
inline constexpr const char* kImport = "import";

// What steps get compiled kernels for; the rest are the device's own loops.
enum class KernelTarget : uint8_t { kNone, kHost, kCuda };

struct CompileOptions {
  CostModel cost;            // link and device costs that decisions are made with
  bool verify_each = false;  // verify the module after every pass that changed it
  bool combine_collectives = true;
  bool trace_shardings = false;  // fill PassContext::placements
  KernelTarget kernels = KernelTarget::kNone;
  std::string kernel_architecture;  // of kCuda: "sm_90"
  // What the target has for attention; and why it has no library, if that is worth saying.
  codegen::AttentionTarget attention;
  std::string why_no_attention_library;
  std::string kernel_cache;  // folder; empty: compiled kernels are not kept
  // Seconds that compiling may take: when they are over, the kernels that are left are not
  // compiled, and the device's own do those steps. Absent: as long as it takes.
  std::optional<double> budget;
  bool streams = false;  // the Plan says which steps may run beside collectives
};

// A value as propagation placed it, in words.
struct PlacedValue {
  std::string place;  // "stablehlo.add at model.py:3", or an argument's name
  std::string type;   // of the whole tensor
  std::string sharding;
  std::string origin;  // of its axes; empty when it has none
};

// What passes share: options in, remarks out. Passes hold no state of their own.
struct PassContext {
  CompileOptions options;
  std::vector<Remark> remarks;
  int64_t full_rematerializations = 0;
  std::vector<PlacedValue> placements;  // main()'s arguments first, then the ops' results

  void remark(std::string_view pass, const Op& op, std::string text);
};

struct Pass {
  std::string name;     // "insert_reshards"
  std::string summary;  // one line
  // Returns whether the module changed.
  std::function<bool(Module&, PassContext&)> run;
};

struct PassTiming {
  std::string pass;
  double milliseconds = 0;
  bool changed = false;
  size_t ops = 0;  // after the pass
};

struct PipelineOptions {
  std::string stop_after;         // a pass name; empty: run all
  std::vector<std::string> skip;  // pass names
  std::string dump_dir;           // numbered text dumps and manifest.json when not empty
  bool check_changed = false;     // catch passes that lie about having changed something
  std::function<void(const Pass&, size_t index, size_t count)> on_pass;  // progress
  std::function<void(const Pass&, const Module&)> after_pass;            // inspection
};

// Runs passes in order. With options.verify_each, verifies after each change and names the pass in
// the InternalError. Throws UserError for unknown names in `stop_after` or `skip`, with the nearest
// known one.
std::vector<PassTiming> run_passes(Module& module, const std::vector<Pass>& passes,
                                   PassContext& context, const PipelineOptions& options = {});

}  // namespace spmd
