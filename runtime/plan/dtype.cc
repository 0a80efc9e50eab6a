#include "runtime/plan/dtype.h"

#include "support/float_formats.h"

namespace spmd::plan {

int64_t byte_size(DType dtype) {
  switch (dtype) {
    case BOOL:
    case S4:
    case S8:
    case U4:
    case U8:
    case S2:
    case U2:
#define SPMD_CASE(Type, name) case Type:
      SPMD_BYTE_FLOATS(SPMD_CASE)
#undef SPMD_CASE
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

bool is_narrow_float(DType dtype) {
  switch (dtype) {
#define SPMD_CASE(Type, name) case Type:
    SPMD_BYTE_FLOATS(SPMD_CASE)
#undef SPMD_CASE
    case F16:
    case BF16:
      return true;
    default:
      return false;
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
    case S2:
      return "i2";
    case U2:
      return "ui2";
    case F4E2M1FN:
      return "f4E2M1FN";
    case F6E2M3FN:
      return "f6E2M3FN";
    case F6E3M2FN:
      return "f6E3M2FN";
    case F8E3M4:
      return "f8E3M4";
    case F8E4M3:
      return "f8E4M3";
    case F8E4M3B11FNUZ:
      return "f8E4M3B11FNUZ";
    case F8E4M3FN:
      return "f8E4M3FN";
    case F8E4M3FNUZ:
      return "f8E4M3FNUZ";
    case F8E5M2:
      return "f8E5M2";
    case F8E5M2FNUZ:
      return "f8E5M2FNUZ";
    case F8E8M0FNU:
      return "f8E8M0FNU";
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
