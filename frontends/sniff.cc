#include "frontends/sniff.h"

#include <algorithm>
#include <cstdint>

#include "frontends/wire.h"

namespace spmd {
namespace {

using namespace std::string_view_literals;

constexpr auto kMlirMagic = "ML\xefR"sv;

bool is_hlo_module(const WireScan& scan) {
  const bool named = scan.has(1, WireType::kBytes) || scan.has(2, WireType::kBytes);
  return named && scan.has(3, WireType::kBytes) &&
         (scan.has(2, WireType::kBytes) || scan.has(6, WireType::kVarint) || scan.cut_at);
}

// The content of field 1, when it scans as a message.
WireScan first_field(const WireScan& scan) {
  const WireField* field = scan.find(1, WireType::kBytes);
  return field == nullptr ? WireScan{} : scan_wire(field->bytes);
}

bool is_onnx(const WireScan& scan) {
  return scan.has(1, WireType::kVarint) && scan.has(7, WireType::kBytes);
}

// saved_model_schema_version 1, meta_graphs 2.
bool is_saved_model(const WireScan& scan) {
  const WireField* version = scan.find(1, WireType::kVarint);
  return version != nullptr && version->varint == 1 && scan.has(2, WireType::kBytes);
}

Format sniff_proto(std::string_view bytes) {
  const WireScan scan = scan_wire(bytes);
  if (!scan.complete && !scan.cut_at) return Format::kUnknown;
  if (is_onnx(scan)) return Format::kOnnx;
  if (is_saved_model(scan)) return Format::kSavedModel;
  // A wrapper and a module both have fields 1 and 3: ask first whether field 1 is a message. A
  // module's name does not look like one.
  const WireScan inner = first_field(scan);
  if (is_hlo_module(inner)) return Format::kHloProto;
  if (is_hlo_module(first_field(inner))) return Format::kHloSnapshot;
  if (is_hlo_module(scan)) return Format::kHloModuleProto;
  return Format::kUnknown;
}

// Eight bytes of header length, then a JSON object.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  return length < (uint64_t{1} << 32) && (bytes[9] == '"' || bytes[9] == '}' || bytes[9] == ' ');
}

std::string_view without_blanks(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // byte order mark
  const size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

Format sniff_text(std::string_view bytes) {
  std::string_view text = without_blanks(bytes);
  while (text.starts_with("//")) {
    const size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view() : without_blanks(text.substr(end));
  }
  for (std::string_view start :
       {"module"sv, "builtin.module"sv, "\"builtin.module\""sv, "func.func"sv, "sdy.mesh"sv}) {
    if (text.starts_with(start)) return Format::kStableHloText;
  }
  // An alias: #loc1 = loc(...).
  if (text.size() > 1 && text[0] == '#' && text[1] >= 'a' && text[1] <= 'z') {
    return Format::kStableHloText;
  }
  if (text.starts_with("HloModule")) return Format::kHloText;
  const std::string_view head = bytes.substr(0, 4096);
  const bool printable = std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0xf8) || c == '\n' || c == '\r' || c == '\t';
  });
  return printable ? Format::kText : Format::kUnknown;
}

Format sniff_magic(std::string_view bytes) {
  if (bytes.starts_with(kMlirMagic)) return Format::kMlirBytecode;
  if (bytes.starts_with("PK\x03\x04"sv)) return Format::kZip;
  if (bytes.starts_with("\x93NUMPY"sv)) return Format::kNumpy;
  if (bytes.starts_with("\x28\xb5\x2f\xfd"sv)) return Format::kZstd;
  if (is_safetensors(bytes)) return Format::kSafetensors;
  return Format::kUnknown;
}

}  // namespace

Format sniff(std::string_view bytes) {
  if (bytes.empty()) return Format::kEmpty;
  for (auto* recognise : {sniff_magic, sniff_text, sniff_proto}) {
    const Format format = recognise(bytes);
    // A protobuf may happen to be printable.
    if (format != Format::kUnknown && format != Format::kText) return format;
  }
  if (bytes.find(kMlirMagic) != std::string_view::npos) return Format::kJaxExport;
  if (bytes.starts_with("\x80\x02"sv) || bytes.starts_with("\x80\x04"sv)) return Format::kPickle;
  return sniff_text(bytes);
}

}  // namespace spmd
