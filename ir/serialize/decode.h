// Message to module. Everything here throws UserError for what is out of range: the message may
// hold anything.
#pragma once

#include <span>

#include "ir/module.h"
#include "ir/module.pb.h"

namespace spmd::serialize_internal {

// What the parts of a message refer to.
struct DecodeContext {
  const std::string& source;
  const Mesh& mesh;
  int num_functions = 0;
  std::vector<TensorType> types;
  std::vector<ShardingRef> shardings;
  std::vector<LocationRef> locations;
  std::vector<OpCode> opcodes;

  [[noreturn]] void fail(const std::string& fact) const;
  // entries[index], checked.
  template <typename T>
  const T& at(const std::vector<T>& entries, uint32_t index, const char* what) const {
    if (index >= entries.size()) fail(fmt_index(what, index, entries.size()));
    return entries[index];
  }

 private:
  static std::string fmt_index(const char* what, uint32_t index, size_t size);
};

inline std::vector<int64_t> decode(const google::protobuf::RepeatedField<int64_t>& values) {
  return {values.begin(), values.end()};
}
AxisList decode(const DecodeContext& context,
                const google::protobuf::RepeatedPtrField<ir::AxisRef>& axes);
Sharding decode(const DecodeContext& context, const ir::Sharding& sharding);
DType decode_dtype(const DecodeContext& context, const std::string& name);
// The attributes that an op of this code has.
Attrs decode_attrs(const DecodeContext& context, OpCode code, const ir::Op& op);

Module decode_module(const ir::Module& from, const std::string& source);

}  // namespace spmd::serialize_internal
