#include "codegen/scalar.h"

#include <unordered_map>

#include "ir/builder.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

plan::ScalarOp scalar_op(OpCode code) {
  switch (code) {
    case OpCode::kAbs:
      return plan::ABS;
    case OpCode::kAdd:
      return plan::ADD;
    case OpCode::kAnd:
      return plan::AND;
    case OpCode::kAtan2:
      return plan::ATAN2;
    case OpCode::kBitcastConvert:
      return plan::BITCAST_CONVERT;
    case OpCode::kCbrt:
      return plan::CBRT;
    case OpCode::kCeil:
      return plan::CEIL;
    case OpCode::kClamp:
      return plan::CLAMP;
    case OpCode::kCompare:
      return plan::COMPARE;
    case OpCode::kConvert:
      return plan::CONVERT;
    case OpCode::kCosine:
      return plan::COSINE;
    case OpCode::kCountLeadingZeros:
      return plan::COUNT_LEADING_ZEROS;
    case OpCode::kDivide:
      return plan::DIVIDE;
    case OpCode::kErf:
      return plan::ERF;
    case OpCode::kExponential:
      return plan::EXPONENTIAL;
    case OpCode::kExponentialMinusOne:
      return plan::EXPONENTIAL_MINUS_ONE;
    case OpCode::kFloor:
      return plan::FLOOR;
    case OpCode::kIsFinite:
      return plan::IS_FINITE;
    case OpCode::kLog:
      return plan::LOG;
    case OpCode::kLogPlusOne:
      return plan::LOG_PLUS_ONE;
    case OpCode::kLogistic:
      return plan::LOGISTIC;
    case OpCode::kMaximum:
      return plan::MAXIMUM;
    case OpCode::kMinimum:
      return plan::MINIMUM;
    case OpCode::kMultiply:
    case OpCode::kSquare:
      return plan::MULTIPLY;
    case OpCode::kNegate:
      return plan::NEGATE;
    case OpCode::kNot:
      return plan::NOT;
    case OpCode::kOr:
      return plan::OR;
    case OpCode::kPopulationCount:
      return plan::POPULATION_COUNT;
    case OpCode::kPower:
      return plan::POWER;
    case OpCode::kReducePrecision:
      return plan::REDUCE_PRECISION;
    case OpCode::kRemainder:
      return plan::REMAINDER;
    case OpCode::kRoundNearestAfz:
      return plan::ROUND_NEAREST_AFZ;
    case OpCode::kRoundNearestEven:
      return plan::ROUND_NEAREST_EVEN;
    case OpCode::kRsqrt:
      return plan::RSQRT;
    case OpCode::kSelect:
      return plan::SELECT;
    case OpCode::kShiftLeft:
      return plan::SHIFT_LEFT;
    case OpCode::kShiftRightArithmetic:
      return plan::SHIFT_RIGHT_ARITHMETIC;
    case OpCode::kShiftRightLogical:
      return plan::SHIFT_RIGHT_LOGICAL;
    case OpCode::kSign:
      return plan::SIGN;
    case OpCode::kSine:
      return plan::SINE;
    case OpCode::kSqrt:
      return plan::SQRT;
    case OpCode::kSubtract:
      return plan::SUBTRACT;
    case OpCode::kTan:
      return plan::TAN;
    case OpCode::kTanh:
      return plan::TANH;
    case OpCode::kXor:
      return plan::XOR;
    case OpCode::kAcos:
      return plan::ACOS;
    case OpCode::kAcosh:
      return plan::ACOSH;
    case OpCode::kAsin:
      return plan::ASIN;
    case OpCode::kAsinh:
      return plan::ASINH;
    case OpCode::kAtan:
      return plan::ATAN;
    case OpCode::kAtanh:
      return plan::ATANH;
    case OpCode::kBesselI1e:
      return plan::BESSEL_I1E;
    case OpCode::kComplex:
      return plan::COMPLEX;
    case OpCode::kCosh:
      return plan::COSH;
    case OpCode::kDigamma:
      return plan::DIGAMMA;
    case OpCode::kErfc:
      return plan::ERFC;
    case OpCode::kErfInv:
      return plan::ERF_INV;
    case OpCode::kImag:
      return plan::IMAG;
    case OpCode::kLgamma:
      return plan::LGAMMA;
    case OpCode::kPolygamma:
      return plan::POLYGAMMA;
    case OpCode::kReal:
      return plan::REAL;
    case OpCode::kSinh:
      return plan::SINH;
    case OpCode::kZeta:
      return plan::ZETA;
    default:
      return plan::NOP;
  }
}

plan::Comparison comparison(const CompareAttrs& attrs) {
  const int index = static_cast<int>(attrs.direction);
  const bool total = attrs.type == CompareType::kTotalOrder;
  return static_cast<plan::Comparison>(index + (total ? plan::EQ_TOTAL : plan::EQ));
}
static_assert(static_cast<int>(CompareDirection::kNe) == plan::NE &&
              static_cast<int>(CompareDirection::kGe) == plan::GE);

std::string element_bytes(const Literal& literal) {
  return {reinterpret_cast<const char*>(literal.data()),
          static_cast<size_t>(byte_size(literal.type().dtype))};
}

// Builds the program of a region.
class RegionLowering {
 public:
  RegionLowering(const Function& fn, const Op& owner) : fn_(fn), owner_(owner) {}

  plan::ScalarProgram run(BlockId region) {
    for (ValueId arg : fn_.block(region).args) {
      if (fn_.type(arg).rank() != 0) reject("takes an argument that is not a scalar");
      registers_[arg] = program_.inputs_size();
      program_.add_inputs(to_plan(fn_.type(arg).dtype));
    }
    const OpId last = fn_.terminator(region);
    for (OpId id = fn_.block(region).first; id != last; id = fn_.op(id).next) lower(fn_.op(id));
    for (ValueId value : fn_.op(last).operands) program_.add_outputs(register_of(value));
    return std::move(program_);
  }

 private:
  [[noreturn]] void reject(const std::string& fact) {
    throw UserError(place_of(owner_),
                    fmt::format("the region of {} {}", name_of(owner_.code), fact),
                    "only scalar arithmetic can be used there");
  }

  void lower(const Op& op) {
    const bool relabels = op.code == OpCode::kReshape || op.code == OpCode::kBroadcastInDim ||
                          op.code == OpCode::kTranspose || op.code == OpCode::kOptimizationBarrier;
    if (op.code != OpCode::kConstant) {
      for (ValueId operand : op.operands) register_of(operand);
      if (scalar_op(op.code) == plan::NOP && !relabels)
        reject(fmt::format("contains {}", name_of(op.code)));
    }
    for (size_t r = 0; r < op.results.size(); ++r) {
      if (fn_.type(op.results[r]).rank() != 0)
        reject(
            fmt::format("contains {} of {}", name_of(op.code), to_string(fn_.type(op.results[r]))));
      if (relabels) registers_[op.results[r]] = register_of(op.operands[r]);
    }
    if (relabels) return;
    if (op.code == OpCode::kConstant) {
      registers_[op.results[0]] = constant(op.as<ConstantAttrs>().value);
      return;
    }
    std::vector<int> args;
    for (ValueId operand : op.operands) args.push_back(register_of(operand));
    registers_[op.results[0]] = append(scalar_node(op, fn_.type(op.results[0]).dtype, args));
  }

  int register_of(ValueId value) {
    const auto found = registers_.find(value);
    if (found != registers_.end()) return found->second;
    const Op* def = fn_.def(value);
    if (def == nullptr || def->code != OpCode::kConstant || fn_.type(value).rank() != 0)
      reject("reads a value from outside of it");
    return registers_[value] = constant(def->as<ConstantAttrs>().value);
  }

  int constant(const Literal& literal) {
    Node node;
    node.op = plan::CONSTANT;
    node.dtype = literal.type().dtype;
    node.constant = element_bytes(literal);
    return append(node);
  }

  int append(const Node& node) {
    plan::Instruction* instruction = program_.add_instructions();
    instruction->set_op(node.op);
    instruction->set_dtype(to_plan(node.dtype));
    for (int arg : node.args)
      if (arg >= 0) instruction->add_args(arg);
    instruction->set_comparison(node.comparison);
    instruction->set_immediate(node.immediate);
    instruction->set_constant(node.constant);
    return program_.inputs_size() + program_.instructions_size() - 1;
  }

  const Function& fn_;
  const Op& owner_;
  plan::ScalarProgram program_;
  std::unordered_map<ValueId, int> registers_;
};

}  // namespace

int append(Expr& expr, const Expr& part) {
  const int first_node = static_cast<int>(expr.nodes.size());
  const int first_leaf = static_cast<int>(expr.leaves.size());
  for (Node node : part.nodes) {
    for (int& arg : node.args)
      if (arg >= 0) arg += first_node;
    if (node.leaf >= 0) node.leaf += first_leaf;
    expr.nodes.push_back(std::move(node));
  }
  expr.leaves.insert(expr.leaves.end(), part.leaves.begin(), part.leaves.end());
  return static_cast<int>(expr.nodes.size()) - 1;
}

Expr load_expr(const View& view) {
  Node node;
  node.kind = Node::Kind::kLoad;
  node.dtype = view.dtype;
  node.leaf = 0;
  return {{node}, {view}};
}

Expr constant_expr(const Literal& scalar) {
  Node node;
  node.op = plan::CONSTANT;
  node.dtype = scalar.type().dtype;
  node.constant = element_bytes(scalar);
  return {{node}, {}};
}

Expr iota_expr(const TensorType& type, int64_t dim) {
  View counts{-1, type.dtype, 0, type.shape, Dims(type.shape.size(), 0)};
  counts.strides[static_cast<size_t>(dim)] = 1;
  Node node;
  node.kind = Node::Kind::kIota;
  node.dtype = type.dtype;
  node.leaf = 0;
  return {{node}, {counts}};
}

Node scalar_node(const Op& op, DType result, const std::vector<int>& args) {
  Node node;
  node.op = scalar_op(op.code);
  SPMD_CHECK(node.op != plan::NOP && args.size() <= node.args.size(), "{}", name_of(op.code));
  node.dtype = result;
  for (size_t i = 0; i < args.size(); ++i) node.args[i] = args[i];
  if (op.code == OpCode::kSquare) node.args[1] = node.args[0];
  if (op.code == OpCode::kCompare) node.comparison = comparison(op.as<CompareAttrs>());
  if (op.code == OpCode::kReducePrecision) {
    const auto& attrs = op.as<ReducePrecisionAttrs>();
    node.immediate = attrs.exponent_bits << 8 | attrs.mantissa_bits;
  }
  return node;
}

bool is_expensive(plan::ScalarOp op) {
  switch (op) {
    case plan::ABS:
    case plan::ADD:
    case plan::AND:
    case plan::BITCAST_CONVERT:
    case plan::CLAMP:
    case plan::COMPARE:
    case plan::COMPLEX:
    case plan::CONSTANT:
    case plan::CONVERT:
    case plan::IMAG:
    case plan::IS_FINITE:
    case plan::MAXIMUM:
    case plan::MINIMUM:
    case plan::MULTIPLY:
    case plan::NEGATE:
    case plan::NOP:
    case plan::NOT:
    case plan::OR:
    case plan::REAL:
    case plan::SELECT:
    case plan::SUBTRACT:
    case plan::XOR:
      return false;
    default:
      return true;
  }
}

plan::ScalarOp named_reducer(const Function& fn, BlockId region) {
  const std::optional<OpCode> code = reducer_of(fn, region);
  if (!code) return plan::NOP;
  const bool boolean = fn.type(fn.block(region).args[0]).dtype == DType::kBool;
  switch (*code) {
    case OpCode::kAdd:
    case OpCode::kMaximum:
      return boolean ? plan::OR : scalar_op(*code);
    case OpCode::kMultiply:
    case OpCode::kMinimum:
      return boolean ? plan::AND : scalar_op(*code);
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
      return scalar_op(*code);
    default:
      return plan::NOP;
  }
}

plan::ScalarProgram region_program(const Function& fn, BlockId region, const Op& owner) {
  return RegionLowering(fn, owner).run(region);
}

std::string place_of(const Op& op) {
  return op.location ? op.location->to_string() : std::string(name_of(op.code));
}

}  // namespace spmd::codegen
