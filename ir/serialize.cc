#include "ir/serialize.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <climits>

#include "ir/serialize/decode.h"
#include "ir/serialize/encode.h"
#include "support/error.h"
#include "support/schema_header.h"

namespace spmd {
namespace {

constexpr uint32_t kModuleMagic = 0x4d4d5053;  // "SPMM"

constexpr Schema kSchema = {kModuleMagic,
                            kOldestModuleVersion,
                            kModuleVersion,
                            "module",
                            "a file that spmd-opt has written",
                            "export the program again"};

}  // namespace

bool is_serialized_module(std::string_view bytes) {
  return read_schema_header(bytes).magic == kModuleMagic;
}

std::string serialize(const Module& module) {
  ir::Module message;
  message.set_magic(kModuleMagic);
  message.set_version(kModuleVersion);
  message.set_reader_version(kOldestModuleVersion);
  message.set_producer("spmd");
  serialize_internal::encode_module(module, message);
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    throw UserError(module.source, "larger than 2 GiB when serialised",
                    "pass large constants of the program as arguments");
  }
  return bytes;
}

Module deserialize(std::string_view bytes, const std::string& source) {
  check_schema_header(bytes, kSchema, source);
  if (bytes.size() > INT_MAX) throw UserError(source, "a module larger than 2 GiB");
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  in.SetTotalBytesLimit(INT_MAX);
  ir::Module message;
  if (!message.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    throw UserError(source, "the module is truncated or damaged", "write it again");
  }
  return serialize_internal::decode_module(message, source);
}

}  // namespace spmd
