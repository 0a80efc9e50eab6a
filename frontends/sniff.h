// Recognising formats by content.
#pragma once

#include <string_view>

namespace spmd {

enum class Format {
  kStableHloText,
  kHloText,
  kHloModuleProto,
  kHloProto,
  kHloSnapshot,
  kOnnx,
  kMlirBytecode,
  kJaxExport,
  // Recognised in order to be refused by name.
  kEmpty,
  kZip,
  kSafetensors,
  kNumpy,
  kPickle,
  kZstd,
  kSavedModel,
  kText,
  kUnknown,
};

// Formats other than spmd's own, which is_serialized_module() knows. Looks at the outermost
// structure only. A truncated protobuf is recognised by what there is of it.
Format sniff(std::string_view bytes);

}  // namespace spmd
