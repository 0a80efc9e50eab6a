#include "ir/text/module_builder.h"

#include <algorithm>
#include <charconv>

#include "ir/axis_factors.h"
#include "ir/expand.h"
#include "ir/manual_regions.h"
#include "ir/text/printer.h"
#include "sharding/spec/hlo_sharding.h"
#include "support/error.h"
#include "support/names.h"

namespace spmd::text {

std::optional<OpCode> code_of(std::string_view spelling) {
  if (spelling == "return" || spelling == "func.return" || spelling == "sdy.return") {
    return OpCode::kReturn;
  }
  if (spelling == "call" || spelling == "stablehlo.composite") return OpCode::kCall;
  if (spelling == "sdy.reshard") return OpCode::kReshard;
  // Older spellings.
  if (spelling == "chlo.tan") return OpCode::kTan;
  if (spelling == "chlo.constant") return OpCode::kConstant;
  if (spelling == "chlo.dynamic_reshape") return OpCode::kDynamicReshape;
  return opcode_named(spelling);
}

void ModuleBuilder::fail(size_t position, std::string_view fact, std::string_view remedy) const {
  throw UserError(place(position), fact, remedy);
}

// ---- meshes

void ModuleBuilder::declare_mesh(const std::string& name, Mesh mesh) {
  mesh_order_.push_back(name);
  meshes_.insert_or_assign(name, std::move(mesh));
}

namespace {

int64_t device_count(const AttributeReader& attributes, const char* name,
                     const std::string& source) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const int64_t count = attributes.integer_or(name, 1);
  if (count <= kMost) return std::max<int64_t>(count, 1);
  throw UserError(source, fmt::format("{} is {}", name, count),
                  fmt::format("expected a number of devices, at most {}", kMost));
}

}  // namespace

bool ModuleBuilder::choose_mesh(const Dict& attributes) {
  const AttributeReader module_attributes = reader(attributes, "module", 0);
  if (const Attribute* frontend = module_attributes.find("mhlo.frontend_attributes")) {
    const AttributeReader inner = module_attributes.dict(*frontend);
    const std::string meshes = inner.string_or("xla.sdy.meshes", "");
    if (!meshes.empty()) {
      for (auto& [name, mesh] : parse_sdy_meshes(meshes, source_ + ": xla.sdy.meshes")) {
        declare_mesh(name, std::move(mesh));
      }
    }
  }
  replicas_ = device_count(module_attributes, "mhlo.num_replicas", source_);
  for (const std::string& name : mesh_order_) {
    const Mesh& mesh = meshes_.find(name)->second;
    if (mesh.num_axes() == 0 && name != mesh_order_.back()) continue;
    module_.mesh = mesh.is_maximal() ? Mesh() : mesh;
    module_.mesh_name = symbol(name) == name ? name : "mesh";
    if (mesh.num_axes() > 0) return true;
  }
  return false;
}

void ModuleBuilder::derive_mesh(const Dict& attributes, const std::set<std::string>& hlo_shardings,
                                bool has_device_groups) {
  if (hlo_shardings.empty() && !has_device_groups) return;
  const AttributeReader module_attributes = reader(attributes, "module", 0);
  const int64_t num_devices =
      device_count(module_attributes, "mhlo.num_partitions", source_) * replicas_;
  std::vector<HloSharding> shardings;
  for (const std::string& text : hlo_shardings) {
    shardings.push_back(parse_hlo_sharding(text, source_));
  }
  try {
    module_.mesh = mesh_from_hlo(shardings, num_devices);
  } catch (const UserError& error) {
    throw UserError(source_, error.what());
  }
  module_.mesh_name = "mesh";
  meshes_.emplace("mesh", module_.mesh);
}

Module ModuleBuilder::finish_module(const PlaceOfOp& place_of) {
  resolve_calls();
  name_entry();
  expand_ops(module_, {.replicas = replicas_});
  raise_manual_regions(module_);
  raise_manual_calls(module_, mesh_lookup());
  choose_axis_factors(module_);
  verify(module_, place_of);
  return std::move(module_);
}

// ---- functions

void ModuleBuilder::begin_function(const std::string& name, size_t position, bool is_private) {
  if (module_.find_function(name)) fail(position, fmt::format("@{} is defined twice", name));
  function_index_ = module_.add_function(name);
  fn_ = &module_.function(function_index_);
  fn_->set_private(is_private);
}

void ModuleBuilder::check_terminator(size_t position) const {
  const OpId last = fn_->terminator(fn_->body());
  if (last == OpId::kNone || fn_->op(last).code != OpCode::kReturn) {
    fail(position, fmt::format("the body of @{} does not end in a return", fn_->name()));
  }
}

std::optional<Dims> ModuleBuilder::global_shape(const Dict& attributes) const {
  constexpr std::string_view kKey = "spmd.global_shape";
  const AttributeReader from = reader(attributes, "global shape", 0);
  if (from.find(kKey) == nullptr) return std::nullopt;
  return from.integers(kKey);
}

void ModuleBuilder::set_argument_info(const std::vector<Dict>& arguments,
                                      const std::vector<std::string>& locations,
                                      const std::vector<Dict>& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    ResultInfo info;
    info.name = reader(results[i], "result", 0).string_or("jax.result_info", "");
    info.sharding = sharding_of(results[i], fn_->type(fn_->results()[i]).rank());
    info.global_shape = global_shape(results[i]);
    fn_->result_info.push_back(std::move(info));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const AttributeReader from = reader(arguments[i], "argument", 0);
    ArgumentInfo info;
    const int64_t aliased = from.integer_or("tf.aliasing_output", -1);
    if (const Attribute* alias = from.find("tf.aliasing_output")) {
      if (aliased < 0 || aliased >= static_cast<int64_t>(results.size())) {
        from.fail(*alias, "tf.aliasing_output",
                  fmt::format("the number of one of {} results", results.size()));
      }
    }
    info.aliased_result = static_cast<int>(aliased);
    info.donated = from.boolean_or("jax.buffer_donor", false);
    info.global_shape = global_shape(arguments[i]);
    if (aliased >= 0) info.name = fn_->result_info[static_cast<size_t>(aliased)].name;
    if (is_place_only(info.name) && !locations[i].empty()) info.name = locations[i];
    info.name = from.string_or("spmd.name", info.name);
    fn_->argument_info.push_back(std::move(info));
  }
}

// The only function that is not private is the entry, whatever its name.
void ModuleBuilder::name_entry() {
  if (module_.find_function("main")) return;
  int entry = -1;
  for (size_t i = 0; i < module_.functions().size(); ++i) {
    if (module_.functions()[i]->is_private()) continue;
    if (entry >= 0) return;  // see the verifier
    entry = static_cast<int>(i);
  }
  if (entry >= 0) module_.rename_function(entry, "main");
}

void ModuleBuilder::resolve_calls() {
  const auto named = [&](const std::string& name, size_t position) {
    const auto found = module_.find_function(name);
    if (!found) fail(position, fmt::format("there is no function @{}", name));
    return *found;
  };
  for (const PendingPrograms& pending : programs_) {
    auto& attrs = module_.function(pending.function).op(pending.op).as<RunParallelAttrs>();
    for (const auto& row : pending.names) {
      std::vector<int>& replica = attrs.programs.emplace_back();
      for (const std::string& name : row) replica.push_back(named(name, pending.position));
    }
  }
  for (const PendingCall& call : calls_) {
    module_.function(call.function).op(call.op).as<CallAttrs>().callee =
        named(call.callee, call.position);
  }
}

// ---- ops

OpId ModuleBuilder::create_open(const GenericOp& op, BlockId block, LocationRef location) {
  return fn_->insert_op(block, OpId::kNone, op.code, op.operands, {}, NoAttrs{},
                        std::move(location));
}

namespace {

// Checks as jax's test data writes them.
std::optional<OpCode> check_named(std::string_view target) {
  for (OpCode code : {OpCode::kCheckAlmostEq, OpCode::kCheckClose, OpCode::kCheckEq}) {
    if (name_of(code) == target) return code;
  }
  return std::nullopt;
}

}  // namespace

std::optional<OpCode> ModuleBuilder::meaning_of_call(GenericOp& op,
                                                     std::vector<TensorType>& results) const {
  const std::string target =
      reader(op.attributes, op.spelling, op.position).string_or("call_target_name", "");
  if (target == "xla.sdy.ShardingGroup" || target == "xla.sdy.PropagationBarrier") {
    return meaning_of_sdy_call(op, target);
  }
  if (const auto check = check_named(target)) {
    results.clear();
    return check;
  }
  if (op.operands.size() != 1 || results.size() != 1) return op.code;
  // The place of a value in memory is not ours to keep.
  if (target == "annotate_device_placement") return std::nullopt;
  if (target == "Sharding") return OpCode::kShardingConstraint;
  if (target == "mhlo.erf") return OpCode::kErf;
  return op.code;
}

// The ops of sdy that its export to custom calls writes, with numbers like "21 : i64" as strings.
OpCode ModuleBuilder::meaning_of_sdy_call(GenericOp& op, std::string_view target) const {
  const AttributeReader outer = reader(op.attributes, op.spelling, op.position);
  const AttributeReader from = outer.dict(outer.get("mhlo.frontend_attributes"));
  const bool is_group = target == "xla.sdy.ShardingGroup";
  const char* key = is_group ? "xla.sdy.sharding_group_id" : "xla.sdy.allowed_direction";
  const std::string text = from.string_or(key, "");
  NamedAttribute number{is_group ? "group_id" : "allowed_direction", {}};
  number.value.kind = Attribute::Kind::kInteger;
  number.value.position = op.position;
  if (std::from_chars(text.data(), text.data() + text.size(), number.value.integer).ec !=
      std::errc()) {
    from.fail(from.get(key), key, "a number");
  }
  op.attributes = {std::move(number)};
  return is_group ? OpCode::kShardingGroup : OpCode::kPropagationBarrier;
}

std::vector<ValueId> ModuleBuilder::complete(GenericOp& op, OpId id,
                                             std::vector<TensorType> results) {
  if (op.code == OpCode::kCustomCall) {
    const auto code = meaning_of_call(op, results);
    if (!code) {
      fn_->erase_op(id);
      return op.operands;
    }
    op.code = *code;
    fn_->op(id).code = *code;
  }
  fn_->op(id).attrs = attributes_of(op, id);
  for (TensorType& type : results) fn_->add_result(id, std::move(type));
  set_result_shardings(op, id);
  return fn_->op(id).results;
}

}  // namespace spmd::text
