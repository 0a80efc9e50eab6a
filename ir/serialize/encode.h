// Module to message.
#pragma once

#include "ir/module.h"
#include "ir/module.pb.h"

namespace spmd::serialize_internal {

void encode(const AxisList& axes, google::protobuf::RepeatedPtrField<ir::AxisRef>& to);
void encode(const Sharding& sharding, ir::Sharding& to);

inline void encode(const std::vector<int64_t>& values,
                   google::protobuf::RepeatedField<int64_t>& to) {
  to.Add(values.begin(), values.end());
}

// The attributes of an op; `type_index` gives the number of a type in the file's table.
class TypeTable {
 public:
  virtual ~TypeTable() = default;
  virtual uint32_t index_of(const TensorType& type) = 0;
};
void encode_attrs(const Attrs& attrs, TypeTable& types, ir::Op& to);

void encode_module(const Module& module, ir::Module& to);

}  // namespace spmd::serialize_internal
