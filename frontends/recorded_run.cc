#include "frontends/recorded_run.h"

#include "frontends/gzip.h"
#include "frontends/hlo_proto/read.h"
#include "frontends/sniff.h"
#include "ir/serialize.h"

namespace spmd {
namespace {

std::optional<RecordedRun> of_plain(std::string_view bytes, const std::string& source) {
  if (is_serialized_module(bytes)) return std::nullopt;
  switch (sniff(bytes)) {
    case Format::kHloSnapshot:
      return read_hlo_run(bytes, HloContainer::kSnapshot, source);
    case Format::kHloProto:
      return read_hlo_run(bytes, HloContainer::kProto, source);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<RecordedRun> read_recorded_run(std::string_view bytes, const std::string& source) {
  return is_gzip(bytes) ? of_plain(gunzip(bytes, source), source) : of_plain(bytes, source);
}

}  // namespace spmd
