// The report of a run or of a check: one JSON object, which docs/report.md describes, and the same
// as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "launcher/expectation.h"
#include "passes/pass.h"
#include "runtime/executor.h"
#include "runtime/plan/plan.h"

namespace spmd {

// Raised with every change that a reader of reports could stumble over.
inline constexpr int kReportVersion = 1;

// What is known before anything runs: program, mesh, costs, memory per rank.
nlohmann::ordered_json report_of_plan(const plan::Plan& plan);

// Adds what the compiler remarked.
void add_remarks(nlohmann::ordered_json& report, const std::vector<Remark>& remarks);

// What passes before the first step on rank 0, in milliseconds.
struct StartTiming {
  double compile_ms = 0;  // from the imported program to the Plan; a saved Plan says what it took
  double device_ms = 0;   // the device made ready: a GPU's context
  double memory_ms = 0;   // the Plan's memory
  double load_ms = 0;     // code loaded, kernels made
  double connect_ms = 0;  // devices of ranks connected
  double state_ms = 0;    // the state read or drawn, and copied
  double tune_ms = 0;     // candidates timed, or found in the cache

  // From the program to kernels that can run.
  double from_program_ms() const { return compile_ms + load_ms + tune_ms; }
};

// "start: compiled 512 ms, ...", one line.
std::string to_string(const StartTiming& start);

// Adds it; `compile_ms` then includes what the device did of it.
void add_start(nlohmann::ordered_json& report, const StartTiming& start);

// Adds what rank 0 measured: each step, and per collective the milliseconds per step.
// `memory_bytes` is the most that any rank held; what the Plan does not know of it, the
// workspace of kernels and messages, becomes a part of the memory of its own.
void add_measurements(nlohmann::ordered_json& report, const std::vector<StepTiming>& steps,
                      const std::deque<CollectiveRecord>& collectives, int64_t memory_bytes);

// Adds what --check found.
void add_comparison(nlohmann::ordered_json& report, const Comparison& comparison);

// The text of report.json. Bytes of names that are no UTF-8 become U+FFFD.
std::string report_json(const nlohmann::ordered_json& report);

// For people. `all`: long tables whole.
std::string report_text(const nlohmann::ordered_json& report, bool all = false);

}  // namespace spmd
