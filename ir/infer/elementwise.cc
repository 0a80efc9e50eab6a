#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {

TensorType infer_elementwise(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kSelect:
      require_count(in, 3);
      require(in[0].dtype == DType::kBool, "the predicate of select must be i1");
      require_same_shape(in[1], in[2]);
      if (in[0].rank() != 0) require_same_shape(in[0], in[1]);
      return in[1];
    case OpCode::kClamp:
      require_count(in, 3);
      if (in[0].rank() != 0) require_same_shape(in[0], in[1]);
      if (in[2].rank() != 0) require_same_shape(in[2], in[1]);
      return in[1];
    case OpCode::kCompare:
      require_count(in, 2);
      require_same_shape(in[0], in[1]);
      require(in[0].dtype == in[1].dtype, "compare of different element types");
      return in[0].with_dtype(DType::kBool);
    case OpCode::kIsFinite:
      require_count(in, 1);
      return in[0].with_dtype(DType::kBool);
    case OpCode::kAbs:
    case OpCode::kImag:
    case OpCode::kReal:
      require_count(in, 1);
      return in[0].with_dtype(real_type(in[0].dtype));
    case OpCode::kComplex:
      require_count(in, 2);
      require(in[0] == in[1] && (in[0].dtype == DType::kF32 || in[0].dtype == DType::kF64),
              "complex needs two operands of one type, of element type f32 or f64");
      return in[0].with_dtype(in[0].dtype == DType::kF32 ? DType::kC64 : DType::kC128);
    case OpCode::kAdd:
    case OpCode::kAnd:
    case OpCode::kAtan2:
    case OpCode::kDivide:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kMultiply:
    case OpCode::kOr:
    case OpCode::kPolygamma:
    case OpCode::kPower:
    case OpCode::kRemainder:
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
    case OpCode::kSubtract:
    case OpCode::kXor:
    case OpCode::kZeta:
      require_count(in, 2);
      require(in[0] == in[1], "operand types {} and {} differ", in[0], in[1]);
      return in[0];
    default:
      require_count(in, 1);
      return in[0];
  }
}

}  // namespace spmd::infer
