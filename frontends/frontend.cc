#include "frontends/frontend.h"

#include "frontends/donations.h"
#include "frontends/gzip.h"
#include "frontends/hlo_proto/read.h"
#include "frontends/read_file.h"
#include "frontends/refuse.h"
#include "frontends/sniff.h"
#include "ir/serialize.h"
#include "ir/text.h"

namespace spmd {
namespace {

Module import_plain(std::string_view bytes, const std::string& source) {
  if (is_serialized_module(bytes)) return deserialize(bytes, source);
  const Format format = sniff(bytes);
  switch (format) {
    case Format::kStableHloText:
      return parse_stablehlo(bytes, source);
    case Format::kHloModuleProto:
      return read_hlo(bytes, HloContainer::kModule, source);
    case Format::kHloProto:
      return read_hlo(bytes, HloContainer::kProto, source);
    case Format::kHloSnapshot:
      return read_hlo(bytes, HloContainer::kSnapshot, source);
    default:
      refuse(format, source);
  }
}

}  // namespace

Module import_bytes(std::string_view bytes, const std::string& source) {
  Module module =
      is_gzip(bytes) ? import_plain(gunzip(bytes, source), source) : import_plain(bytes, source);
  pair_donations(module);
  return module;
}

Module import_file(const std::string& path) { return import_bytes(read_file(path), path); }

}  // namespace spmd
