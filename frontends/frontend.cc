#include "frontends/frontend.h"

#include "frontends/donations.h"
#include "frontends/gzip.h"
#include "frontends/hlo_proto/read.h"
#include "frontends/hlo_text/import.h"
#include "frontends/read_file.h"
#include "frontends/refuse.h"
#include "frontends/sniff.h"
#include "ir/serialize.h"
#include "ir/text.h"

namespace spmd {
namespace {

// Without the byte order mark that some editors put first.
std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

Module import_plain(std::string_view bytes, const std::string& source) {
  if (is_serialized_module(bytes)) return deserialize(bytes, source);
  const Format format = sniff(bytes);
  switch (format) {
    case Format::kStableHloText:
      return parse_stablehlo(without_mark(bytes), source);
    case Format::kHloText:
      return import_hlo_text(without_mark(bytes), source);
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
