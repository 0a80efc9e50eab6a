#include "frontends/refuse.h"

#include "support/error.h"

namespace spmd {
namespace {

struct Refusal {
  const char* fact;
  const char* remedy;
};

constexpr const char* kExportText =
    "export StableHLO text, jax.jit(f).lower(...).as_text(), or an HloModuleProto, "
    "lower(...).compiler_ir(\"hlo\").as_serialized_hlo_module_proto()";
constexpr const char* kAccepted =
    "accepted are StableHLO text and bytecode, files of jax.export, HLO text, HloModuleProto "
    "(bare, "
    "in HloProto or HloSnapshot) and ONNX models, each also gzipped";

Refusal refusal(Format format) {
  switch (format) {
    case Format::kEmpty:
      return {"the file is empty", "export the program again"};
    case Format::kZip:
      return {"is a zip archive (.pt2, .pt, .npz or the like), which is not supported",
              "export the program as StableHLO text or HloModuleProto; PyTorch programs as ONNX "
              "models, "
              "torch.onnx.export(..., dynamo=True), or by way of torchax"};
    case Format::kSafetensors:
      return {"is a safetensors file: tensors, not a program",
              "name the program's file, and pass tensors with --state or --batches"};
    case Format::kNumpy:
      return {"is a NumPy array: a tensor, not a program",
              "name the program's file, and pass tensors with --state or --batches"};
    case Format::kPickle:
      return {"is a Python pickle, which is not supported", kExportText};
    case Format::kZstd:
      return {"is compressed with zstd, which is not supported",
              "decompress it first: zstd -d, or compress with gzip"};
    case Format::kSavedModel:
      return {"is a TensorFlow SavedModel, which is not supported",
              "export the program as StableHLO text or HloModuleProto"};
    case Format::kText:
      return {"is a text that is neither StableHLO nor HLO", kAccepted};
    default:
      return {"is in no format that is known here, or is damaged", kAccepted};
  }
}

}  // namespace

void refuse(Format format, const std::string& source) {
  const Refusal words = refusal(format);
  throw UserError(source, words.fact, words.remedy);
}

}  // namespace spmd
