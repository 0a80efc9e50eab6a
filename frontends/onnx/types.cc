#include "frontends/onnx/types.h"

#include <fmt/format.h>

#include "frontends/onnx/onnx.pb.h"

namespace spmd::onnx {

std::optional<DType> dtype_of(int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return DType::kF32;
    case TensorProto::UINT8:
      return DType::kU8;
    case TensorProto::INT8:
      return DType::kS8;
    case TensorProto::UINT16:
      return DType::kU16;
    case TensorProto::INT16:
      return DType::kS16;
    case TensorProto::INT32:
      return DType::kS32;
    case TensorProto::INT64:
      return DType::kS64;
    case TensorProto::BOOL:
      return DType::kBool;
    case TensorProto::FLOAT16:
      return DType::kF16;
    case TensorProto::DOUBLE:
      return DType::kF64;
    case TensorProto::UINT32:
      return DType::kU32;
    case TensorProto::UINT64:
      return DType::kU64;
    case TensorProto::COMPLEX64:
      return DType::kC64;
    case TensorProto::COMPLEX128:
      return DType::kC128;
    case TensorProto::BFLOAT16:
      return DType::kBF16;
    case TensorProto::FLOAT8E4M3FN:
      return DType::kF8E4M3FN;
    case TensorProto::FLOAT8E5M2:
      return DType::kF8E5M2;
    case TensorProto::UINT4:
      return DType::kU4;
    case TensorProto::INT4:
      return DType::kS4;
    default:
      return std::nullopt;
  }
}

std::string data_type_name(int data_type) {
  if (TensorProto::DataType_IsValid(data_type)) {
    return TensorProto::DataType_Name(static_cast<TensorProto::DataType>(data_type));
  }
  return fmt::format("data type {}", data_type);
}

}  // namespace spmd::onnx
