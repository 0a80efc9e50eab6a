#include "launcher/check_command.h"

#include <map>
#include <nlohmann/json.hpp>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "launcher/agreement.h"
#include "launcher/choose_mesh.h"
#include "launcher/compile_program.h"
#include "launcher/report.h"
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

// The arguments of a localised module.
Json list_arguments(const Module& module) {
  const Function& fn = module.main();
  Json rows = Json::array();
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const Value& value = fn.value(fn.arguments()[i]);
    const ArgumentInfo& info = fn.argument_info[i];
    const TensorType global = value.type.with_shape(info.global_shape.value_or(value.type.shape));
    rows.push_back({{"name", info.name.empty() ? fmt::format("argument {}", i) : info.name},
                    {"role", info.aliased_result >= 0 ? "state" : "input"},
                    {"type", to_string(global)},
                    {"sharding", value.sharding ? value.sharding->to_string(module.mesh) : ""},
                    {"bytes_per_rank", value.type.num_bytes()}});
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

Json report_of_program(Module module, const CommandLine& line, const RunConfig& config) {
  alone(kUsageError, [&] {
    place_program(module, choose_mesh_for_check(module, config.mesh, line.ranks), config);
  });
  const Json ops = count_ops(module);
  CompileResult result;
  const Terminal terminal = line.json ? Terminal{} : stdout_terminal();
  alone(kFileError,
        [&] { result = compile_program(std::move(module), terminal, line.verbose && !line.json); });
  Json report = report_of_plan(result.plan);
  report["predicted"] = predict(result.plan.statistics(), CostModel{});
  report["ops"] = ops;
  report["arguments"] = list_arguments(result.module);
  add_remarks(report, result.remarks);
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
    options = parse_import_options(line.dims, line.inputs);
  });
  if (line.print_config) return fmt::print("{}", print_config(config));
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
