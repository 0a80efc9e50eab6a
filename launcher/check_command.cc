#include "launcher/check_command.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "ir/describe.h"
#include "launcher/agreement.h"
#include "launcher/choose_mesh.h"
#include "launcher/compile_program.h"
#include "launcher/missing_state.h"
#include "launcher/report.h"
#include "launcher/same_work.h"
#include "passes/analysis/collective_reason.h"
#include "runtime/plan/races.h"
#include "support/error.h"

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

Json count_ops(const Module& module) {
  std::map<std::string, int64_t> counts;
  for (const auto& fn : module.functions()) {
    walk(*fn, [&](OpId id) { ++counts[std::string(name_of(fn->op(id).code))]; });
  }
  Json ops = Json::object();
  for (const auto& [name, count] : counts) ops[name] = count;
  return ops;
}

// Where each argument's sharding is from, before propagation: a rule, the file, or nothing.
std::vector<std::string> annotation_sources(const Module& module,
                                            const std::vector<ParameterSharding>& decided) {
  std::vector<std::string> sources;
  const Function& fn = module.main();
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const bool annotated = fn.value(fn.arguments()[i]).sharding != nullptr;
    sources.push_back(!decided.empty() ? decided[i].source : annotated ? "file" : "propagation");
  }
  return sources;
}

// What a rank holds beyond an equal share of the tensor, padding included.
int64_t replicated_bytes(const TensorType& global, int64_t bytes_per_rank, int64_t ranks) {
  return std::max<int64_t>(0, bytes_per_rank - (global.num_bytes() + ranks - 1) / ranks);
}

// The arguments of a localised module. `sources`: of their annotations.
Json list_arguments(const CompileResult& result, const std::vector<std::string>& sources) {
  const Module& module = result.module;
  const Function& fn = module.main();
  Json rows = Json::array();
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const Value& value = fn.value(fn.arguments()[i]);
    const ArgumentInfo& info = fn.argument_info[i];
    const TensorType global = value.type.with_shape(info.global_shape.value_or(value.type.shape));
    const bool found = i < result.placements.size() && sources[i] == "propagation" &&
                       !result.placements[i].origin.empty();
    rows.push_back({{"name", name_of_argument(fn, i)},
                    {"role", info.aliased_result >= 0 ? "state" : "input"},
                    {"type", to_string(global)},
                    {"sharding", value.sharding ? value.sharding->to_string(module.mesh) : ""},
                    {"from", found ? result.placements[i].origin : sources[i]},
                    {"bytes_per_rank", value.type.num_bytes()},
                    {"replicated_bytes",
                     replicated_bytes(global, value.type.num_bytes(), module.mesh.num_devices())}});
  }
  return rows;
}

// Every collective, those that send most first.
Json list_transfers(const CompileResult& result) {
  std::vector<const CollectiveUse*> uses;
  for (const CollectiveUse& use : result.collectives) uses.push_back(&use);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
  Json rows = Json::array();
  for (const CollectiveUse* use : uses) {
    rows.push_back({{"kind", name_of(use->kind)},
                    {"axes", use->axes},
                    {"count", use->count},
                    {"bytes", use->bytes},
                    {"reason", reason_of(result.module, use->op)}});
  }
  return rows;
}

// The values as propagation placed them, arguments apart.
Json list_placements(const CompileResult& result) {
  Json rows = Json::array();
  for (size_t i = result.module.main().arguments().size(); i < result.placements.size(); ++i) {
    const PlacedValue& value = result.placements[i];
    rows.push_back({{"value", value.place},
                    {"type", value.type},
                    {"sharding", value.sharding},
                    {"from", value.origin}});
  }
  return rows;
}

Json predict(const plan::Statistics& statistics, const CostModel& cost) {
  double comm = 0;
  for (const plan::CollectiveTotal& total : statistics.collectives()) {
    comm += static_cast<double>(total.count()) * cost.latency +
            static_cast<double>(total.bytes()) / cost.bandwidth;
  }
  const double compute = statistics.flops_per_rank() / cost.flops_per_second;
  return {{"compute_ms", compute * 1e3}, {"comm_ms", comm * 1e3}};
}

// Those of the compiler, and what the program itself lacks.
std::vector<Remark> remarks_of(const CompileResult& result) {
  std::vector<Remark> remarks = result.remarks;
  const auto add = [&](const char* subject, std::optional<std::string> text) {
    if (!text) return;
    for (size_t at; (at = text->find("\n  ")) != std::string::npos;) text->replace(at, 3, "; ");
    remarks.push_back({subject, result.plan.source(), *text});
  };
  add("state", describe_missing_state(result.plan, missing_state(result.plan), /*steps=*/1));
  add("mesh", describe_same_work(result.plan));
  return remarks;
}

Json report_of_program(Module module, const CommandLine& line, const RunConfig& config) {
  std::vector<std::string> sources;
  alone(kUsageError, [&] {
    const auto decided =
        place_program(module, choose_mesh_for_check(module, config.mesh, line.ranks), config);
    sources = annotation_sources(module, decided);
  });
  const Json ops = count_ops(module);
  CompileResult result;
  const Terminal terminal = line.json ? Terminal{} : stdout_terminal();
  CompileOptions options;
  options.trace_shardings = true;
  options.streams = true;  // so that what a GPU would run is checked for races
  alone(kFileError, [&] {
    result = compile_program(std::move(module), terminal, line.verbose && !line.json, options);
  });
  alone(kInternalError, [&] {
    const auto race = plan::find_race(result.plan);
    SPMD_CHECK(!race, "{}", race.value_or(""));
  });
  Json report = report_of_plan(result.plan);
  report["predicted"] = predict(result.plan.statistics(), CostModel{});
  report["ops"] = ops;
  report["arguments"] = list_arguments(result, sources);
  report["transfers"] = list_transfers(result);
  if (line.verbose) report["values"] = list_placements(result);
  add_remarks(report, remarks_of(result));
  return report;
}

// What a Plan still tells of its program.
Json report_of_saved_plan(const plan::Plan& plan, const CommandLine& line,
                          const RunConfig& config) {
  alone(kUsageError, [&] { check_plan_options(line.model, config); });
  Json report = report_of_plan(plan);
  report["predicted"] = predict(plan.statistics(), CostModel{});
  return report;
}

}  // namespace

void run_check(const CommandLine& line) {
  RunConfig config;
  ImportOptions options;
  alone(kUsageError, [&] {
    config = resolve_config(line);
    options = parse_import_options(config.dims, config.inputs);
  });
  if (line.print_config) return fmt::print("{}", describe_config(config));
  Json report;
  std::string bytes;
  alone(kFileError, [&] { bytes = read_file(line.model); });
  if (is_plan(bytes)) {
    plan::Plan plan;
    alone(kFileError, [&] { plan = plan::parse_plan(bytes, line.model); });
    report = report_of_saved_plan(plan, line, config);
  } else {
    Module module;
    alone(kFileError, [&] { module = import_bytes(bytes, line.model, options); });
    report = report_of_program(std::move(module), line, config);
  }
  fmt::print("{}", line.json ? report_json(report) : report_text(report, line.verbose));
}

}  // namespace spmd
