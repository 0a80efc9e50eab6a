#include "frontends/parse_proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "frontends/wire.h"
#include "support/error.h"

namespace spmd {
namespace {

[[noreturn]] void fail_to_parse(std::string_view bytes, const std::string& source,
                                const char* what) {
  const WireScan scan = scan_wire(bytes);
  if (scan.cut_at) {
    throw UserError(source,
                    fmt::format("the {} is truncated: the part at byte {} announces {} bytes, and "
                                "the file ends at byte {}",
                                what, *scan.cut_at, scan.announced, bytes.size()),
                    "copy or export the file again");
  }
  throw UserError(source, fmt::format("the {} is damaged: its protobuf does not parse", what),
                  "copy or export the file again");
}

}  // namespace

void parse_proto(google::protobuf::Message& message, std::string_view bytes,
                 const std::string& source, const char* what) {
  if (bytes.size() > INT32_MAX) {
    throw UserError(source, fmt::format("the {} is larger than 2 GiB", what),
                    "export the program with its weights as arguments, not as constants");
  }
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  const google::protobuf::LogSilencer silence;
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail_to_parse(bytes, source, what);
  }
}

}  // namespace spmd
