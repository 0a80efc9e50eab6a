#include "frontends/hlo_proto/import.h"

#include "frontends/hlo_proto/emitter.h"
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/signature.h"
#include "ir/axis_factors.h"
#include "ir/expand.h"
#include "ir/manual_regions.h"
#include "ir/verifier.h"

namespace spmd {
namespace hlo_proto {
namespace {

void fill_main(ModuleContext& context, const hlo::HloModuleProto& proto) {
  const Computation& entry = context.computations.entry();
  Function& main = context.module.function(context.module.add_function("main"));
  const auto arguments = add_entry_arguments(context, proto, main);
  ValueTable table(entry);
  Emitter emitter(context, entry, table, main, main.body());
  const std::vector<ValueId> results = emitter.run(arguments);
  emitter.builder().location = nullptr;
  emitter.builder().return_op(results);
  add_entry_results(context, proto, main);
}

void fill_private(ModuleContext& context, const Computation& computation) {
  Function& fn = context.module.function(context.function_of(computation));
  std::vector<std::vector<ValueId>> parameters;
  for (int number : computation.parameters) {
    const Instruction& parameter = computation.instruction(number);
    std::vector<ValueId>& leaves = parameters.emplace_back();
    for (TensorType& type : leaf_types(parameter.shape(), context.place(parameter))) {
      leaves.push_back(fn.add_block_argument(fn.body(), std::move(type)));
    }
  }
  ValueTable table(computation);
  Emitter emitter(context, computation, table, fn, fn.body());
  const std::vector<ValueId> results = emitter.run(parameters);
  emitter.builder().location = nullptr;
  emitter.builder().return_op(results);
  fn.argument_info.resize(fn.arguments().size());
  fn.result_info.resize(results.size());
}

}  // namespace
}  // namespace hlo_proto

Module import_hlo(const hlo::HloModuleProto& proto, const std::string& source,
                  const HloImportOptions& options) {
  hlo_proto::ModuleContext context(proto, source, options);
  hlo_proto::check_supported(context);
  if (!proto.name().empty()) context.module.name = proto.name();
  context.module.source = source;
  context.module.mesh = context.shardings.mesh();
  context.module.mesh_name = context.shardings.mesh_name();
  hlo_proto::fill_main(context, proto);
  while (!context.pending.empty()) {
    const hlo_proto::Computation* next = context.pending.back();
    context.pending.pop_back();
    hlo_proto::fill_private(context, *next);
  }
  if (const auto& place = context.shardings.maximal()) context.module.note(*place, kMaximalNote);
  expand_ops(context.module);
  if (context.has_manual_borders) {
    raise_manual_regions(context.module);
    raise_manual_calls(context.module, context.shardings.meshes());
  }
  choose_axis_factors(context.module);
  verify(context.module, [&](const Function& fn, OpId op) { return context.place_of_op(fn, op); });
  return std::move(context.module);
}

}  // namespace spmd
