#include "ir/serialize/encode.h"

#include <map>

namespace spmd::serialize_internal {

void encode(const AxisList& axes, google::protobuf::RepeatedPtrField<ir::AxisRef>& to) {
  for (const AxisRef& axis : axes) {
    ir::AxisRef& ref = *to.Add();
    ref.set_axis(axis.axis);
    ref.set_pre(axis.pre);
    ref.set_size(axis.size);
  }
}

void encode(const Sharding& sharding, ir::Sharding& to) {
  for (const DimSharding& dim : sharding.dims) {
    ir::Sharding::Dim& target = *to.add_dims();
    encode(dim.axes, *target.mutable_axes());
    target.set_open(dim.open);
    if (dim.priority) target.set_priority_plus_one(static_cast<uint32_t>(*dim.priority) + 1);
  }
  encode(sharding.replicated, *to.mutable_replicated());
  encode(sharding.unreduced, *to.mutable_unreduced());
  to.set_reduction(static_cast<ir::Sharding::Reduction>(sharding.reduction));
  encode(sharding.manual, *to.mutable_manual());
}

namespace {

class ModuleEncoder : public TypeTable {
 public:
  ModuleEncoder(const Module& module, ir::Module& to) : module_(module), to_(to) {}

  void run() {
    to_.set_name(module_.name);
    to_.set_source(module_.source);
    ir::Mesh& mesh = *to_.mutable_mesh();
    mesh.set_name(module_.mesh_name);
    for (const MeshAxis& axis : module_.mesh.axes()) {
      ir::Mesh::Axis& target = *mesh.add_axes();
      target.set_name(axis.name);
      target.set_size(axis.size);
    }
    encode(module_.mesh.device_ids(), *mesh.mutable_device_ids());
    for (const auto& fn : module_.functions()) encode_function(*fn);
  }

  uint32_t index_of(const TensorType& type) override {
    const auto key = std::make_pair(type.dtype, type.shape);
    const auto [found, added] = types_.emplace(key, static_cast<uint32_t>(types_.size()));
    if (added) {
      ir::TensorType& target = *to_.add_types();
      target.set_dtype(std::string(name_of(type.dtype)));
      encode(type.shape, *target.mutable_shape());
    }
    return found->second;
  }

 private:
  uint32_t sharding_plus_one(const ShardingRef& sharding) {
    if (!sharding) return 0;
    // By content: passes make equal shardings anew.
    std::string text = sharding->to_string(module_.mesh);
    text += static_cast<char>(sharding->reduction);
    const auto [found, added] =
        shardings_.emplace(std::move(text), static_cast<uint32_t>(shardings_.size()) + 1);
    if (added) encode(*sharding, *to_.add_shardings());
    return found->second;
  }

  uint32_t location_plus_one(const LocationRef& location) {
    if (!location) return 0;
    const auto key = std::make_tuple(location->name, location->file, location->line);
    const auto [found, added] =
        locations_.emplace(key, static_cast<uint32_t>(locations_.size()) + 1);
    if (added) {
      ir::Location& target = *to_.add_locations();
      target.set_name(location->name);
      target.set_file(location->file);
      target.set_line(location->line);
    }
    return found->second;
  }

  uint32_t opcode_index(OpCode code) {
    const auto [found, added] = opcodes_.emplace(code, static_cast<uint32_t>(opcodes_.size()));
    if (added) to_.add_opcodes(std::string(name_of(code)));
    return found->second;
  }

  void encode_function(const Function& fn) {
    ir::Function& target = *to_.add_functions();
    target.set_name(fn.name());
    target.set_is_private(fn.is_private());
    for (const ArgumentInfo& info : fn.argument_info) {
      ir::Argument& argument = *target.add_arguments();
      argument.set_name(info.name);
      argument.set_aliased_result_plus_one(info.aliased_result + 1);
      argument.set_donated(info.donated);
      if (info.global_shape)
        encode(*info.global_shape, *argument.mutable_global_shape()->mutable_sizes());
    }
    for (const ResultInfo& info : fn.result_info) {
      ir::Result& result = *target.add_results();
      result.set_name(info.name);
      result.set_sharding_plus_one(sharding_plus_one(info.sharding));
      if (info.global_shape)
        encode(*info.global_shape, *result.mutable_global_shape()->mutable_sizes());
    }
    numbers_.assign(fn.num_value_ids(), 0);
    next_value_ = 0;
    encode_block(fn, fn.body(), target);
  }

  // Returns the block's number in the function.
  uint32_t encode_block(const Function& fn, BlockId id, ir::Function& to) {
    const auto number = static_cast<uint32_t>(to.blocks_size());
    to.add_blocks();
    const std::vector<ValueId>& args = fn.block(id).args;
    bool sharded = false;
    for (ValueId arg : args) {
      number_value(arg);
      to.mutable_blocks(static_cast<int>(number))->add_argument_types(index_of(fn.type(arg)));
      sharded = sharded || fn.value(arg).sharding;
    }
    for (size_t i = 0; sharded && i < args.size(); ++i) {
      to.mutable_blocks(static_cast<int>(number))
          ->add_argument_shardings_plus_one(sharding_plus_one(fn.value(args[i]).sharding));
    }
    for_each_op(fn, id, [&](OpId op) {
      ir::Op encoded = encode_op(fn, op, to);
      to.mutable_blocks(static_cast<int>(number))->add_ops()->Swap(&encoded);
    });
    return number;
  }

  ir::Op encode_op(const Function& fn, OpId id, ir::Function& to) {
    const Op& op = fn.op(id);
    ir::Op target;
    target.set_opcode(opcode_index(op.code));
    for (ValueId operand : op.operands) target.add_operands(numbers_[spmd::index_of(operand)]);
    for (BlockId region : op.regions) target.add_regions(encode_block(fn, region, to));
    bool sharded = false;
    for (ValueId result : op.results) {
      number_value(result);
      target.add_result_types(index_of(fn.type(result)));
      sharded = sharded || fn.value(result).sharding;
    }
    for (size_t i = 0; sharded && i < op.results.size(); ++i) {
      target.add_result_shardings_plus_one(sharding_plus_one(fn.value(op.results[i]).sharding));
    }
    target.set_location_plus_one(location_plus_one(op.location));
    encode_attrs(op.attrs, *this, target);
    return target;
  }

  void number_value(ValueId id) { numbers_[spmd::index_of(id)] = next_value_++; }

  const Module& module_;
  ir::Module& to_;
  std::map<std::pair<DType, Dims>, uint32_t> types_;
  std::map<std::string, uint32_t> shardings_;
  std::map<std::tuple<std::string, std::string, int>, uint32_t> locations_;
  std::map<OpCode, uint32_t> opcodes_;
  std::vector<uint32_t> numbers_;  // by value id
  uint32_t next_value_ = 0;
};

}  // namespace

void encode_module(const Module& module, ir::Module& to) { ModuleEncoder(module, to).run(); }

}  // namespace spmd::serialize_internal
