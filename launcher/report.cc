#include "launcher/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/memory_use.h"
#include "support/error.h"

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

Json mesh_of_plan(const plan::Plan& plan) {
  Json mesh = Json::object();
  for (const plan::MeshAxis& axis : plan.mesh()) mesh[axis.name()] = axis.size();
  return mesh;
}

int64_t devices_of(const plan::Plan& plan) {
  return std::accumulate(plan.mesh().begin(), plan.mesh().end(), int64_t{1},
                         [](int64_t n, const plan::MeshAxis& axis) { return n * axis.size(); });
}

// Bytes per rank by what they hold. Buffers are counted once, whoever shares them.
Json memory_of(const plan::Plan& plan) {
  int64_t arguments = 0, state = 0, results = 0, constants = 0;
  for (const plan::Buffer& buffer : plan.buffers()) {
    if (buffer.kind() == plan::Buffer::ARGUMENT) arguments += buffer.bytes();
    if (buffer.kind() == plan::Buffer::RESULT) results += buffer.bytes();
    if (buffer.kind() == plan::Buffer::CONSTANT) constants += buffer.bytes();
  }
  for (const plan::Argument& argument : plan.arguments()) {
    if (argument.aliased_result() >= 0) state += plan.buffers(argument.buffer()).bytes();
  }
  return {{"state_bytes", state},
          {"input_bytes", arguments - state},
          {"result_bytes", results},
          {"constant_bytes", constants},
          {"temporary_bytes", plan.arena_bytes()}};
}

Json memory_by_use(const plan::Plan& plan) {
  const MemoryUse use = memory_use(plan);
  return {{"parameter_bytes", use.parameters},
          {"optimizer_bytes", use.optimizer_state},
          {"activation_bytes", use.activations},
          {"gradient_bytes", use.gradients},
          {"temporary_bytes", use.temporaries},
          {"communication_bytes", use.messages},
          {"gap_bytes", use.gaps},
          {"peak_op", use.peak_op}};
}

int64_t sum_of(const Json& object) {
  int64_t sum = 0;
  for (const auto& [key, value] : object.items()) sum += value.get<int64_t>();
  return sum;
}

// Records of one kind and axes belong to one row; listed groups are "explicit" in the statistics.
bool belongs(const CollectiveRecord& record, const Json& row) {
  const std::string axes = record.axes.empty() ? "explicit" : record.axes;
  return record.kind == row["kind"].get<std::string>() && axes == row["axes"].get<std::string>();
}

}  // namespace

Json report_of_plan(const plan::Plan& plan) {
  const plan::Statistics& statistics = plan.statistics();
  const Json memory = memory_of(plan);
  Json report{{"schema", "spmd.report"},
              {"version", kReportVersion},
              {"program", plan.source()},
              {"mesh", mesh_of_plan(plan)},
              {"ranks", devices_of(plan)},
              {"compile_ms", statistics.compile_ms()},
              {"peak_memory_bytes", sum_of(memory)},
              {"memory", memory},
              {"memory_by_use", memory_by_use(plan)},
              {"bytes_sent_per_step", statistics.bytes_sent_per_step()},
              {"full_rematerializations", statistics.full_rematerializations()},
              {"replicated_flops", statistics.replicated_flops()},
              {"flops_per_rank", statistics.flops_per_rank()},
              {"collectives", Json::array()}};
  for (const plan::CollectiveTotal& total : statistics.collectives()) {
    report["collectives"].push_back({{"kind", total.kind()},
                                     {"axes", total.axes()},
                                     {"count", total.count()},
                                     {"bytes", total.bytes()},
                                     {"op", total.op()}});
  }
  return report;
}

void add_remarks(Json& report, const std::vector<Remark>& remarks) {
  report["remarks"] = Json::array();
  for (const Remark& remark : remarks) {
    report["remarks"].push_back(
        {{"pass", remark.pass}, {"place", remark.place}, {"text", remark.text}});
  }
}

std::string to_string(const StartTiming& start) {
  return fmt::format(
      "start: compile {:.0f} ms, device {:.0f} ms, memory {:.0f} ms, load kernels {:.0f} ms, state "
      "{:.0f} ms, connect {:.0f} ms, tune {:.0f} ms",
      start.compile_ms, start.device_ms, start.memory_ms, start.load_ms, start.state_ms,
      start.connect_ms, start.tune_ms);
}

void add_start(Json& report, const StartTiming& start) {
  report["compile_ms"] = start.from_program_ms();
  report["start"] = {{"compile_ms", start.compile_ms}, {"device_ms", start.device_ms},
                     {"memory_ms", start.memory_ms},   {"load_ms", start.load_ms},
                     {"state_ms", start.state_ms},     {"connect_ms", start.connect_ms},
                     {"tune_ms", start.tune_ms}};
}

void add_measurements(Json& report, const std::vector<StepTiming>& steps,
                      const std::deque<CollectiveRecord>& collectives, int64_t memory_bytes) {
  Json& memory = report["memory"];
  memory["workspace_bytes"] = memory_bytes - sum_of(memory);
  report["peak_memory_bytes"] = memory_bytes;
  for (Json& row : report["collectives"]) {
    double total = 0, exposed = 0;
    for (const CollectiveRecord& record : collectives) {
      if (!belongs(record, row)) continue;
      total += record.milliseconds;
      exposed += record.exposed_ms;
    }
    const double count = std::max<double>(static_cast<double>(steps.size()), 1);
    row["ms"] = total / count;
    row["exposed_ms"] = exposed / count;
  }
  double total_ms = report["compile_ms"].get<double>();
  for (const StepTiming& step : steps) total_ms += step.step_ms;
  if (total_ms > 0) report["compile_share"] = report["compile_ms"].get<double>() / total_ms;
  report["steps"] = Json::array();
  for (const StepTiming& step : steps) {
    report["steps"].push_back({{"step_ms", step.step_ms},
                               {"compute_ms", step.compute_ms},
                               {"comm_ms", step.comm_ms},
                               {"exposed_ms", step.exposed_ms}});
  }
}

void add_comparison(Json& report, const Comparison& comparison) {
  report["check"] = {{"passed", comparison.passed()},
                     {"state_skipped", comparison.state_skipped},
                     {"worst_metric_difference", comparison.worst_metric()},
                     {"worst_state_deviation", comparison.worst_state()},
                     {"tensors", comparison.state.size()},
                     {"not_compared", comparison.without_expectation}};
}

std::string report_json(const Json& report) {
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace spmd
