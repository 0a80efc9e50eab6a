#include "launcher/check_command.h"

#include <map>
#include <nlohmann/json.hpp>

#include "frontends/frontend.h"
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

Json predict(const CompileResult& result, const CostModel& cost) {
  double comm = 0;
  for (const CollectiveUse& use : result.collectives) {
    comm += static_cast<double>(use.count) * cost.latency +
            static_cast<double>(use.bytes) / cost.bandwidth;
  }
  const double compute = result.plan.statistics().flops_per_rank() / cost.flops_per_second;
  return {{"compute_ms", compute * 1e3}, {"comm_ms", comm * 1e3}};
}

}  // namespace

void run_check(const CommandLine& line) {
  RunConfig config;
  alone(kUsageError, [&] { config = resolve_config(line); });
  if (line.print_config) return fmt::print("{}", print_config(config));
  Module module;
  alone(kFileError, [&] { module = import_file(line.model); });
  alone(kUsageError, [&] {
    place_program(module, choose_mesh_for_check(module, config.mesh, line.ranks), config);
  });
  const Json ops = count_ops(module);
  CompileResult result;
  const Terminal terminal = line.json ? Terminal{} : stdout_terminal();
  alone(kFileError,
        [&] { result = compile_program(std::move(module), terminal, line.verbose && !line.json); });
  Json report = report_of_plan(result.plan);
  report["predicted"] = predict(result, CostModel{});
  report["ops"] = ops;
  report["arguments"] = list_arguments(result.module);
  add_remarks(report, result.remarks);
  fmt::print("{}", line.json ? report.dump(2) + "\n" : report_text(report, line.verbose));
}

}  // namespace spmd
