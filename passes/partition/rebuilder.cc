#include "passes/partition/rebuilder.h"

namespace spmd {

void Rebuilder::rebuild_function() {
  for (ValueId arg : from_.arguments()) {
    map_[arg] = to_.add_block_argument(to_.body(), new_type(arg), from_.value(arg).sharding);
  }
  Builder builder(to_, to_.body());
  copy_block(from_.body(), builder);
  to_.argument_info = from_.argument_info;
  to_.result_info = from_.result_info;
  to_.set_private(from_.is_private());
}

void Rebuilder::copy_block(BlockId block, Builder& builder) {
  for (OpId id = from_.block(block).first; id != OpId::kNone; id = from_.op(id).next) {
    builder.location = from_.op(id).location;
    copy(id, builder);
  }
}

void Rebuilder::copy_region(BlockId source, BlockId region) {
  for (ValueId arg : from_.block(source).args) {
    map_[arg] = to_.add_block_argument(region, new_type(arg), new_sharding(arg));
  }
  Builder inner(to_, region);
  copy_block(source, inner);
}

void Rebuilder::copy_verbatim(BlockId source, BlockId region) {
  ValueMap values;
  for (ValueId arg : from_.block(source).args) {
    values[arg] = to_.add_block_argument(region, from_.type(arg));
  }
  Builder inner(to_, region);
  for (OpId id = from_.block(source).first; id != OpId::kNone; id = from_.op(id).next) {
    for (ValueId operand : from_.op(id).operands) {
      if (map_.contains(operand)) values.try_emplace(operand, map_.at(operand));
    }
    clone_op(from_, id, inner, values);
  }
}

std::vector<ValueId> Rebuilder::mapped(const std::vector<ValueId>& values) const {
  std::vector<ValueId> result;
  result.reserve(values.size());
  for (ValueId value : values) result.push_back(map_.at(value));
  return result;
}

void Rebuilder::map_results(const Op& op, OpId created) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    const ValueId result = to_.op(created).results[i];
    map_[op.results[i]] = result;
    to_.value(result).sharding = new_sharding(op.results[i]);
  }
}

ValueId Rebuilder::made_anew(const Op& source, const TensorType& type, Builder& builder) const {
  switch (source.code) {
    case OpCode::kConstant: {
      const Literal& literal = source.as<ConstantAttrs>().value;
      if (!literal.is_splat()) return ValueId::kNone;
      return builder.constant(Literal::splat(type, static_cast<const void*>(literal.data())));
    }
    case OpCode::kIota:
      return builder.iota(type, source.as<IotaAttrs>().dim);
    case OpCode::kBroadcastInDim:
      return builder.broadcast(map_.at(source.operands[0]), type.shape, {});
    default:
      return ValueId::kNone;
  }
}

}  // namespace spmd
