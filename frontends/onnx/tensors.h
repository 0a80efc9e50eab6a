// TensorProto to Literal.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/import_options.h"
#include "ir/literal.h"

namespace spmd::onnx {

class TensorProto;
class SparseTensorProto;

class MappedData;

// Reads the tensors of one model, its external data included.
class Tensors {
 public:
  // `source` names the model in messages; `folder` holds its external data.
  Tensors(std::string source, std::string folder);
  ~Tensors();

  // Type of a tensor with a supported element type. Throws UserError with `place` in front for
  // malformed shapes and types that spmd has none of.
  TensorType type_of(const TensorProto& proto, const std::string& place) const;
  // The elements. Throws UserError when there are more or fewer than the shape says, or external
  // data cannot be read.
  Literal read(const TensorProto& proto, const std::string& place);
  // The elements where they lie in the model or its external data, when they are stored as a
  // Literal has them; nullopt when read() must convert them. Throws as read() does.
  std::optional<std::span<const std::byte>> stored_bytes(const TensorProto& proto,
                                                         const std::string& place);
  Literal read(const SparseTensorProto& proto, const std::string& place);
  StringTensor read_strings(const TensorProto& proto, const std::string& place) const;

 private:
  const MappedData& map_external(const std::string& location, const TensorProto& proto,
                                 const std::string& place);
  // Bytes as they are stored; nullopt when one of the typed fields has the elements.
  std::optional<std::span<const std::byte>> raw_of(const TensorProto& proto, const TensorType& type,
                                                   const std::string& place);
  std::span<const std::byte> external_bytes(const TensorProto& proto, const std::string& place,
                                            int64_t expected);

  std::string source_, folder_;
  std::map<std::string, std::unique_ptr<MappedData>> files_;  // by location
};

}  // namespace spmd::onnx
