#include "ir/serialize/decode.h"

#include "ir/axis_factors.h"
#include "ir/verifier.h"
#include "support/error.h"

namespace spmd::serialize_internal {

void DecodeContext::fail(const std::string& fact) const {
  throw UserError(source, "the module is damaged: " + fact, "write it again");
}

std::string DecodeContext::fmt_index(const char* what, uint32_t index, size_t size) {
  return fmt::format("{} {} of {}", what, index, size);
}

AxisList decode(const DecodeContext& context,
                const google::protobuf::RepeatedPtrField<ir::AxisRef>& axes) {
  AxisList list;
  for (const ir::AxisRef& from : axes) {
    const AxisRef ref{from.axis(), from.pre(), from.size()};
    if (ref.axis < 0 || ref.axis >= context.mesh.num_axes()) {
      context.fail(fmt::format("mesh axis {} of {}", ref.axis, context.mesh.num_axes()));
    }
    const int64_t full = context.mesh.axis_size(ref.axis);
    const bool whole = ref.size == 0 && ref.pre == 1;
    if (!whole && (ref.size < 2 || !is_factor(ref.pre, ref.size, full))) {
      context.fail(fmt::format("({}){} of a mesh axis of size {}", ref.pre, ref.size, full));
    }
    list.push_back(ref);
  }
  return list;
}

Sharding decode(const DecodeContext& context, const ir::Sharding& from) {
  Sharding sharding;
  for (const ir::Sharding::Dim& dim : from.dims()) {
    DimSharding target;
    target.axes = decode(context, dim.axes());
    target.open = dim.open();
    if (dim.priority_plus_one() > INT32_MAX) context.fail("a priority out of range");
    if (dim.priority_plus_one() > 0)
      target.priority = static_cast<int>(dim.priority_plus_one()) - 1;
    sharding.dims.push_back(std::move(target));
  }
  sharding.replicated = decode(context, from.replicated());
  sharding.unreduced = decode(context, from.unreduced());
  if (from.reduction() < 0 || from.reduction() > ir::Sharding::OR) {
    context.fail(fmt::format("reduction {}", static_cast<int>(from.reduction())));
  }
  sharding.reduction = static_cast<ReductionKind>(from.reduction());
  sharding.manual = decode(context, from.manual());
  return sharding;
}

DType decode_dtype(const DecodeContext& context, const std::string& name) {
  const auto dtype = dtype_named(name);
  if (!dtype) context.fail(fmt::format("element type \"{}\"", name));
  return *dtype;
}

namespace {

// Deepest nesting of regions.
constexpr int kMostNested = 200;

class ModuleDecoder {
 public:
  ModuleDecoder(const ir::Module& from, const std::string& source)
      : from_(from), context_{source, module_.mesh, from.functions_size(), {}, {}, {}, {}} {}

  Module run() {
    module_.name = from_.name();
    module_.source = from_.source().empty() ? context_.source : from_.source();
    decode_mesh();
    decode_tables();
    for (const ir::Function& fn : from_.functions()) module_.add_function(fn.name());
    for (int i = 0; i < from_.functions_size(); ++i) {
      decode_function(from_.functions(i), module_.function(i));
    }
    return std::move(module_);
  }

 private:
  void decode_mesh() {
    std::vector<MeshAxis> axes;
    for (const ir::Mesh::Axis& axis : from_.mesh().axes()) {
      axes.push_back({axis.name(), axis.size()});
    }
    try {
      module_.mesh = Mesh(std::move(axes), decode(from_.mesh().device_ids()));
    } catch (const UserError& error) {
      context_.fail(error.what());
    }
    module_.mesh_name = from_.mesh().name();
  }

  void decode_tables() {
    for (const ir::TensorType& type : from_.types()) {
      context_.types.push_back({decode_dtype(context_, type.dtype()), decode(type.shape())});
      if (!is_valid(context_.types.back())) {
        context_.fail("type " + to_string(context_.types.back()));
      }
    }
    for (const ir::Sharding& sharding : from_.shardings()) {
      context_.shardings.push_back(std::make_shared<const Sharding>(decode(context_, sharding)));
    }
    for (const ir::Location& location : from_.locations()) {
      context_.locations.push_back(std::make_shared<const Location>(
          Location{location.name(), location.file(), location.line()}));
    }
    std::string unknown;
    for (const std::string& name : from_.opcodes()) {
      if (const auto code = opcode_named(name)) {
        context_.opcodes.push_back(*code);
      } else {
        unknown += (unknown.empty() ? "" : ", ") + name;
      }
    }
    if (!unknown.empty()) {
      throw UserError(context_.source, "the module has operations that this spmd does not know",
                      unknown);
    }
  }

  ShardingRef sharding(uint32_t plus_one) {
    if (plus_one == 0) return nullptr;
    return context_.at(context_.shardings, plus_one - 1, "sharding");
  }

  void decode_function(const ir::Function& from, Function& fn) {
    fn.set_private(from.is_private());
    for (const ir::Argument& argument : from.arguments()) {
      ArgumentInfo info;
      info.name = argument.name();
      if (argument.aliased_result_plus_one() < 0) context_.fail("an aliased result below 0");
      info.aliased_result = argument.aliased_result_plus_one() - 1;
      info.donated = argument.donated();
      if (argument.has_global_shape()) info.global_shape = decode(argument.global_shape().sizes());
      fn.argument_info.push_back(std::move(info));
    }
    for (const ir::Result& result : from.results()) {
      ResultInfo info;
      info.name = result.name();
      info.sharding = sharding(result.sharding_plus_one());
      if (result.has_global_shape()) info.global_shape = decode(result.global_shape().sizes());
      fn.result_info.push_back(std::move(info));
    }
    if (from.blocks_size() == 0) context_.fail(fmt::format("@{} has no body", from.name()));
    values_.clear();
    used_blocks_.assign(static_cast<size_t>(from.blocks_size()), false);
    decode_block(from, 0, fn, fn.body(), 0);
  }

  void decode_block(const ir::Function& from, uint32_t number, Function& fn, BlockId block,
                    int depth) {
    if (number >= used_blocks_.size() || used_blocks_[number]) {
      context_.fail(fmt::format("block {} in @{}", number, fn.name()));
    }
    if (depth > kMostNested) context_.fail("regions are nested too deeply");
    used_blocks_[number] = true;
    const ir::Block& source = from.blocks(static_cast<int>(number));
    for (int i = 0; i < source.argument_types_size(); ++i) {
      const TensorType& type = context_.at(context_.types, source.argument_types(i), "type");
      ShardingRef placed = i < source.argument_shardings_plus_one_size()
                               ? sharding(source.argument_shardings_plus_one(i))
                               : nullptr;
      values_.push_back(fn.add_block_argument(block, type, std::move(placed)));
    }
    for (const ir::Op& op : source.ops()) decode_op(from, op, fn, block, depth);
  }

  void decode_op(const ir::Function& from, const ir::Op& op, Function& fn, BlockId block,
                 int depth) {
    const OpCode code = context_.at(context_.opcodes, op.opcode(), "opcode");
    std::vector<ValueId> operands;
    operands.reserve(static_cast<size_t>(op.operands_size()));
    for (uint32_t operand : op.operands()) {
      operands.push_back(context_.at(values_, operand, "value"));
    }
    LocationRef location;
    if (op.location_plus_one() > 0) {
      location = context_.at(context_.locations, op.location_plus_one() - 1, "location");
    }
    const OpId id = fn.insert_op(block, OpId::kNone, code, std::move(operands), {},
                                 decode_attrs(context_, code, op), std::move(location));
    for (uint32_t region : op.regions()) {
      decode_block(from, region, fn, fn.add_region(id), depth + 1);
    }
    for (int i = 0; i < op.result_types_size(); ++i) {
      const ValueId value =
          fn.add_result(id, context_.at(context_.types, op.result_types(i), "type"));
      if (i < op.result_shardings_plus_one_size()) {
        fn.value(value).sharding = sharding(op.result_shardings_plus_one(i));
      }
      values_.push_back(value);
    }
  }

  const ir::Module& from_;
  Module module_;
  DecodeContext context_;
  std::vector<ValueId> values_;  // of the function, by number
  std::vector<bool> used_blocks_;
};

}  // namespace

Module decode_module(const ir::Module& from, const std::string& source) {
  Module module = ModuleDecoder(from, source).run();
  choose_axis_factors(module);
  // What is wrong is wrong in this file, whatever file the module once came from.
  std::string origin = std::exchange(module.source, source);
  verify(module, [&](const Function& fn, OpId op) {
    const LocationRef& location = fn.op(op).location;
    return location ? fmt::format("{}: {}", source, location->to_string()) : source;
  });
  module.source = std::move(origin);
  return module;
}

}  // namespace spmd::serialize_internal
