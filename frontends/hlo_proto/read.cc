#include "frontends/hlo_proto/read.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/import.h"
#include "frontends/hlo_proto/literals.h"
#include "frontends/wire.h"
#include "support/error.h"

namespace spmd {
namespace {

[[noreturn]] void fail_to_parse(std::string_view bytes, const std::string& source) {
  const WireScan scan = scan_wire(bytes);
  if (scan.cut_at) {
    throw UserError(source,
                    fmt::format("the HLO module is truncated: the part at byte {} announces {} "
                                "bytes, and the file ends at byte {}",
                                *scan.cut_at, scan.announced, bytes.size()),
                    "copy or export the file again");
  }
  throw UserError(source, "the HLO module is damaged: its protobuf does not parse",
                  "copy or export the file again");
}

// Says nothing on the standard error output: damage is reported by who calls.
template <typename Message>
Message& parse(google::protobuf::Arena& arena, std::string_view bytes, const std::string& source) {
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  // Sizes are ints here, and read_file() bounds them.
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  const google::protobuf::LogSilencer silence;
  if (!message->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail_to_parse(bytes, source);
  }
  return *message;
}

void check_message_size(std::string_view bytes, const std::string& source) {
  if (bytes.size() <= INT32_MAX) return;
  throw UserError(source, "the HLO module is larger than 2 GiB",
                  "export the program with its weights as arguments, not as constants");
}

template <typename Literals>
std::vector<Literal> arguments_from(const Literals& protos, const std::string& source) {
  std::vector<Literal> arguments;
  for (int i = 0; i < protos.size(); ++i) {
    hlo_proto::append_literals(protos[i], fmt::format("{}: recorded argument {}", source, i),
                               arguments);
  }
  return arguments;
}

}  // namespace

Module read_hlo(std::string_view bytes, HloContainer container, const std::string& source) {
  check_message_size(bytes, source);
  google::protobuf::Arena arena;
  switch (container) {
    case HloContainer::kModule:
      return import_hlo(parse<hlo::HloModuleProto>(arena, bytes, source), source);
    case HloContainer::kProto:
      return import_hlo(parse<hlo::HloProto>(arena, bytes, source).hlo_module(), source);
    case HloContainer::kSnapshot:
      return import_hlo(parse<hlo::HloSnapshot>(arena, bytes, source).hlo().hlo_module(), source);
  }
  SPMD_UNREACHABLE("container {}", static_cast<int>(container));
}

std::optional<RecordedRun> read_hlo_run(std::string_view bytes, HloContainer container,
                                        const std::string& source) {
  check_message_size(bytes, source);
  google::protobuf::Arena arena;
  if (container == HloContainer::kSnapshot) {
    const auto& snapshot = parse<hlo::HloSnapshot>(arena, bytes, source);
    RecordedRun run{arguments_from(snapshot.arguments(), source), std::nullopt};
    if (snapshot.has_result()) {
      hlo_proto::append_literals(snapshot.result(), source + ": recorded result",
                                 run.results.emplace());
    }
    return run;
  }
  if (container != HloContainer::kProto) return std::nullopt;
  const auto& snapshot = parse<hlo::HloUnoptimizedSnapshot>(arena, bytes, source);
  if (snapshot.partitions_size() != 1) return std::nullopt;
  return RecordedRun{arguments_from(snapshot.partitions(0).arguments(), source), std::nullopt};
}

}  // namespace spmd
