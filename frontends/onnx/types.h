// Element types of ONNX.
#pragma once

#include <optional>
#include <string>

#include "ir/dtype.h"

namespace spmd::onnx {

// The type that TensorProto.DataType `data_type` stands for; nullopt for strings and for types that
// spmd has none of.
std::optional<DType> dtype_of(int data_type);

// "FLOAT", "BFLOAT16", "data type 99"
std::string data_type_name(int data_type);

}  // namespace spmd::onnx
