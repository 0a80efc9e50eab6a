#include "runtime/plan/dtype.h"

namespace spmd::plan {

int64_t byte_size(DType dtype) {
  switch (dtype) {
    case BOOL:
    case S4:
    case S8:
    case U4:
    case U8:
    case F8E4M3FN:
    case F8E5M2:
      return 1;
    case S16:
    case U16:
    case F16:
    case BF16:
      return 2;
    case S32:
    case U32:
    case F32:
      return 4;
    case S64:
    case U64:
    case F64:
    case C64:
      return 8;
    case C128:
      return 16;
    default:
      return 0;
  }
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case BOOL:
      return "bool";
    case S4:
      return "i4";
    case S8:
      return "i8";
    case S16:
      return "i16";
    case S32:
      return "i32";
    case S64:
      return "i64";
    case U4:
      return "ui4";
    case U8:
      return "ui8";
    case U16:
      return "ui16";
    case U32:
      return "ui32";
    case U64:
      return "ui64";
    case F8E4M3FN:
      return "f8E4M3FN";
    case F8E5M2:
      return "f8E5M2";
    case F16:
      return "f16";
    case BF16:
      return "bf16";
    case F32:
      return "f32";
    case F64:
      return "f64";
    case C64:
      return "complex<f32>";
    case C128:
      return "complex<f64>";
    default:
      return "invalid";
  }
}

}  // namespace spmd::plan
