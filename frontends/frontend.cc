#include "frontends/frontend.h"

#include <filesystem>

#include "frontends/donations.h"
#include "frontends/gzip.h"
#include "frontends/hlo_proto/read.h"
#include "frontends/hlo_text/import.h"
#include "frontends/onnx/import.h"
#include "frontends/read_file.h"
#include "frontends/refuse.h"
#include "frontends/sniff.h"
#include "frontends/vhlo/import.h"
#include "frontends/vhlo/jax_export.h"
#include "ir/serialize.h"
#include "ir/text.h"
#include "support/remedy.h"

namespace spmd {
namespace {

// What to do about faults that readers have no better advice for.
constexpr const char* kMendText =
    "mend the text there, or export it again: jax.jit(f).lower(...).as_text()";
constexpr const char* kMendHloText =
    "mend the text there, or export it again: jax.jit(f).lower(...).as_text(\"hlo\")";
constexpr const char* kExportProto =
    "export the file again: lower(...).compiler_ir(\"hlo\").as_serialized_hlo_module_proto()";
constexpr const char* kExportOnnx = "export the model again";
constexpr const char* kExportJax =
    "export the file again: jax.export.export(jax.jit(f))(...).serialize()";
constexpr const char* kWriteModule = "write the file again: spmd-opt PROGRAM --emit proto -o FILE";

Module import_hlo_proto(std::string_view bytes, HloContainer container, const std::string& source) {
  return with_remedy(kExportProto, [&] { return read_hlo(bytes, container, source); });
}

// Without the byte order mark that some editors put first.
std::string_view without_mark(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

// Where the external data of an ONNX model lies.
std::string folder_of(const std::string& source) {
  return std::filesystem::path(source).parent_path().string();
}

Module import_onnx_file(std::string_view bytes, const std::string& source, ImportOptions options) {
  if (options.folder.empty()) options.folder = folder_of(source);
  return with_remedy(kExportOnnx, [&] { return import_onnx(bytes, source, options); });
}

Module import_plain(std::string_view bytes, const std::string& source,
                    const ImportOptions& options) {
  if (is_serialized_module(bytes)) {
    return with_remedy(kWriteModule, [&] { return deserialize(bytes, source); });
  }
  const Format format = sniff(bytes);
  switch (format) {
    case Format::kStableHloText:
      return with_remedy(kMendText, [&] { return parse_stablehlo(without_mark(bytes), source); });
    case Format::kHloText:
      return with_remedy(kMendHloText,
                         [&] { return import_hlo_text(without_mark(bytes), source); });
    case Format::kHloModuleProto:
      return import_hlo_proto(bytes, HloContainer::kModule, source);
    case Format::kHloProto:
      return import_hlo_proto(bytes, HloContainer::kProto, source);
    case Format::kHloSnapshot:
      return import_hlo_proto(bytes, HloContainer::kSnapshot, source);
    case Format::kMlirBytecode:
      return import_vhlo(bytes, source);
    case Format::kJaxExport:
      return with_remedy(kExportJax, [&] { return import_jax_export(bytes, source); });
    case Format::kOnnx:
      return import_onnx_file(bytes, source, options);
    default:
      refuse(format, source);
  }
}

}  // namespace

Module import_bytes(std::string_view bytes, const std::string& source,
                    const ImportOptions& options) {
  Module module = is_gzip(bytes) ? import_plain(gunzip(bytes, source), source, options)
                                 : import_plain(bytes, source, options);
  pair_donations(module);
  return module;
}

Module import_file(const std::string& path, const ImportOptions& options) {
  return import_bytes(read_file(path), path, options);
}

std::unique_ptr<OnnxParameters> read_parameters(std::string_view bytes, const std::string& source) {
  if (is_gzip(bytes)) return read_parameters(gunzip(bytes, source), source);
  if (is_serialized_module(bytes) || sniff(bytes) != Format::kOnnx) return nullptr;
  return std::make_unique<OnnxParameters>(bytes, source, folder_of(source));
}

}  // namespace spmd
