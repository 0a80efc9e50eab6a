#include "frontends/hlo_proto/read.h"

#include <google/protobuf/arena.h>

#include "frontends/hlo_proto/hlo.pb.h"
#include "frontends/hlo_proto/import.h"
#include "frontends/hlo_proto/literals.h"
#include "frontends/parse_proto.h"
#include "support/error.h"

namespace spmd {
namespace {

template <typename Message>
const Message& parse(google::protobuf::Arena& arena, std::string_view bytes,
                     const std::string& source) {
  return parse_proto<Message>(arena, bytes, source, "HLO module");
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
