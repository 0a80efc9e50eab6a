#include "runtime/plan/verifier.h"

#include <algorithm>
#include <set>

#include "runtime/plan/accesses.h"
#include "runtime/plan/dtype.h"

namespace spmd::plan {
namespace {

// Far above any real size, far below where sums of products of two of them overflow.
constexpr int64_t kLimit = int64_t{1} << 52;
constexpr int kMaxDepth = 64;

bool scalar_reduction(ScalarOp op) {
  return op == ADD || op == MAXIMUM || op == MINIMUM || op == MULTIPLY || op == AND || op == OR ||
         op == XOR;
}

int arity(ScalarOp op) {
  switch (op) {
    case IOTA:
    case CONSTANT:
      return 0;
    case ADD:
    case AND:
    case ATAN2:
    case COMPARE:
    case COMPLEX:
    case DIVIDE:
    case MAXIMUM:
    case MINIMUM:
    case MULTIPLY:
    case OR:
    case POLYGAMMA:
    case POWER:
    case REMAINDER:
    case SHIFT_LEFT:
    case SHIFT_RIGHT_ARITHMETIC:
    case SHIFT_RIGHT_LOGICAL:
    case SUBTRACT:
    case XOR:
    case ZETA:
      return 2;
    case CLAMP:
    case SELECT:
      return 3;
    default:
      return ScalarOp_IsValid(op) ? 1 : -1;
  }
}

}  // namespace

void verify_plan(const Plan& plan, const std::string& place) { Verifier(plan, place).run(); }

void Verifier::fail(const std::string& fact) const {
  throw UserError(place_, step_.empty() ? fact : fmt::format("step {}: {}", step_, fact),
                  "the plan is damaged or was written by a faulty compiler; compile it again");
}

void Verifier::run() {
  mesh();
  buffers();
  signature();
  expect(plan_.programs_size() > 0, "no program");
  expect(plan_.program_of_rank_size() == 0 || plan_.program_of_rank_size() == devices_,
         "the map from ranks to programs has not one entry per device");
  for (int32_t program : plan_.program_of_rank())
    expect(program >= 0 && program < plan_.programs_size(), "a rank's program does not exist");
  kernels();
  for (const Program& program : plan_.programs()) {
    sequence(program.body(), 0);
    streams(program.body());
  }
  for (const Carried& value : plan_.carried()) carried(value);
  races();
}

void Verifier::mesh() {
  for (const MeshAxis& axis : plan_.mesh()) {
    expect(axis.size() > 0 && axis.size() <= kLimit, "a mesh axis has no positive size");
    devices_ *= axis.size();
    expect(devices_ < (int64_t{1} << 31), "the mesh has 2^31 devices or more");
  }
  if (plan_.device_ids_size() == 0) return;
  expect(plan_.device_ids_size() == devices_, "the device order has not one entry per device");
  std::set<int64_t> seen(plan_.device_ids().begin(), plan_.device_ids().end());
  expect(static_cast<int64_t>(seen.size()) == devices_ && *seen.begin() == 0 &&
             *seen.rbegin() == devices_ - 1,
         "the device order is no permutation");
}

void Verifier::buffers() {
  expect(plan_.arena_bytes() >= 0 && plan_.arena_bytes() <= kLimit, "a negative arena size");
  for (const Buffer& buffer : plan_.buffers()) {
    expect(buffer.bytes() >= 0 && buffer.bytes() <= kLimit, "a buffer of negative size");
    const int64_t data = static_cast<int64_t>(buffer.data().size());
    switch (buffer.kind()) {
      case Buffer::ARENA:
        expect(buffer.offset() >= 0 && buffer.offset() % 64 == 0 &&
                   buffer.offset() + buffer.bytes() <= plan_.arena_bytes(),
               "a buffer outside the arena, or not aligned to 64 bytes");
        break;
      case Buffer::CONSTANT:
        expect(data == buffer.bytes() || (data > 0 && buffer.bytes() % data == 0),
               "a constant whose data is neither its bytes nor one element");
        break;
      case Buffer::ARGUMENT:
      case Buffer::RESULT:
      case Buffer::LOCAL:
        break;
      default:
        fail("a buffer of unknown kind");
    }
  }
}

void Verifier::placement(const Placement& placement, int32_t buffer) {
  expect(byte_size(placement.dtype()) > 0, "an argument or result without element type");
  const Shape global = checked_shape(placement.global_shape());
  const Shape local = checked_shape(placement.local_shape());
  expect(global.size() == local.size(), "local and global rank differ");
  expect(placement.axes_size() == 0 || placement.axes_size() == static_cast<int>(global.size()),
         "a placement has not one list of axes per dimension");
  for (size_t d = 0; d < global.size(); ++d) {
    const int64_t blocks =
        placement.axes_size() == 0 ? 1 : axes(placement.axes(static_cast<int>(d)));
    expect(local[d] <= kLimit / blocks && local[d] * blocks >= global[d],
           "the blocks do not cover the global shape");
  }
  expect(buffer >= 0 && buffer < plan_.buffers_size(), "a buffer that does not exist");
  const int64_t bytes = element_count(placement.local_shape()) * byte_size(placement.dtype());
  expect(plan_.buffers(buffer).bytes() >= bytes, "a buffer smaller than its argument or result");
}

void Verifier::signature() {
  std::set<int32_t> owned, aliased;
  for (const Argument& argument : plan_.arguments()) {
    step_ = "argument " + argument.name();
    placement(argument.placement(), argument.buffer());
    expect(plan_.buffers(argument.buffer()).kind() == Buffer::ARGUMENT,
           "its buffer is not an argument's");
    expect(owned.insert(argument.buffer()).second, "its buffer is another argument's too");
    const int32_t result = argument.aliased_result();
    if (result < 0) continue;
    expect(result < plan_.results_size(), "aliases a result that does not exist");
    expect(aliased.insert(result).second, "aliases a result that another argument aliases");
    expect(plan_.results(result).placement().SerializeAsString() ==
               argument.placement().SerializeAsString(),
           "is placed otherwise than the result it aliases");
    expect(plan_.buffers(plan_.results(result).buffer()).bytes() ==
               plan_.buffers(argument.buffer()).bytes(),
           "its buffer differs in size from that of the result it aliases");
  }
  for (const Result& result : plan_.results()) {
    step_ = "result " + result.name();
    placement(result.placement(), result.buffer());
  }
  step_.clear();
}

Shape Verifier::checked_shape(const google::protobuf::RepeatedField<int64_t>& field) {
  int64_t count = 1;
  for (int64_t size : field) {
    expect(size >= 0 && size <= kLimit, "a negative size");
    expect(size == 0 || count <= kLimit / size, "a tensor too large to address");
    count *= std::max<int64_t>(size, 1);
  }
  return dims_of(field);
}

void Verifier::dims(const google::protobuf::RepeatedField<int64_t>& dims, int64_t rank,
                    const char* what) {
  std::set<int64_t> seen;
  for (int64_t d : dims)
    if (d < 0 || d >= rank || !seen.insert(d).second)
      fail(fmt::format("{} names dimension {} twice or beyond rank {}", what, d, rank));
}

Shape Verifier::view(const View& view, const Shape* shape) {
  expect(view.buffer() >= 0 && view.buffer() < plan_.buffers_size(),
         "a view on a buffer that does not exist");
  expect(in_fused_ || plan_.buffers(view.buffer()).kind() != Buffer::LOCAL,
         "a view on a local buffer outside of fused steps");
  const int64_t size = byte_size(view.dtype());
  expect(size > 0, "a view without element type");
  const Shape own = checked_shape(view.shape());
  const Shape& dims = shape ? *shape : own;
  expect(static_cast<size_t>(view.strides_size()) == dims.size(),
         "a view has not one stride per dimension");
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return dims;
  expect(view.offset() >= 0 && view.offset() <= kLimit, "a view begins before its buffer");
  int64_t low = view.offset(), high = view.offset();
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t stride = view.strides(static_cast<int>(d));
    if (dims[d] == 1 || stride == 0) continue;
    expect(stride >= -kLimit && stride <= kLimit && std::abs(stride) <= kLimit / (dims[d] - 1),
           "a view reaches outside its buffer");
    (stride > 0 ? high : low) += stride * (dims[d] - 1);
    expect(low >= 0 && high <= kLimit, "a view reaches outside its buffer");
  }
  const int64_t bytes = plan_.buffers(view.buffer()).bytes();
  if (high >= bytes / size)
    fail(fmt::format("a view of {} reaches element {} of a buffer of {} bytes",
                     dtype_name(view.dtype()), high, bytes));
  return dims;
}

void Verifier::scalar_view(const View& view) {
  static const Shape scalar;
  this->view(view, &scalar);
}

void Verifier::program(const ScalarProgram& program, int64_t argument_count, int64_t result_count) {
  expect(argument_count < 0 || program.inputs_size() == argument_count,
         "a scalar program takes another number of inputs than it is given");
  expect(result_count < 0 || program.outputs_size() == result_count,
         "a scalar program has another number of outputs than are wanted");
  int32_t next = program.inputs_size();
  for (int dtype : program.inputs())
    expect(byte_size(static_cast<DType>(dtype)) > 0, "a scalar input without element type");
  for (const Instruction& instruction : program.instructions()) {
    expect(byte_size(instruction.dtype()) > 0, "a scalar instruction without element type");
    expect(instruction.args_size() == arity(instruction.op()),
           "a scalar instruction has too few or too many operands");
    for (int32_t arg : instruction.args())
      expect(arg >= 0 && arg < next, "a scalar instruction reads a register not yet written");
    if (instruction.op() == CONSTANT)
      expect(static_cast<int64_t>(instruction.constant().size()) == byte_size(instruction.dtype()),
             "a scalar constant has the wrong number of bytes");
    ++next;
  }
  for (int32_t output : program.outputs())
    expect(output >= 0 && output < next, "a scalar program returns a register that does not exist");
}

void Verifier::reducer(ScalarOp op, const ScalarProgram& reducer, int64_t operands) {
  expect(operands > 0, "a reduction of nothing");
  if (op != NOP) {
    expect(scalar_reduction(op) && operands == 1, "a reduction by an op that does not reduce");
    return;
  }
  program(reducer, 2 * operands, operands);
  for (int i = 0; i < operands; ++i)
    expect(reducer.inputs(i) == reducer.inputs(i + static_cast<int>(operands)),
           "a reducer's accumulator and element differ in type");
}

int64_t Verifier::axes(const AxisList& list) {
  int64_t size = 1;
  for (const AxisRef& axis : list.axes()) {
    expect(axis.axis() >= 0 && axis.axis() < plan_.mesh_size(), "a mesh axis that does not exist");
    const int64_t full = plan_.mesh(axis.axis()).size();
    if (axis.size() != 0) {
      expect(axis.pre() > 0 && axis.size() > 0 && axis.pre() <= full && axis.size() <= full &&
                 full % (axis.pre() * axis.size()) == 0,
             "a sub-axis that does not divide its axis");
    }
    size *= axis.size() == 0 ? full : axis.size();
    expect(size <= devices_, "an axis is used twice");
  }
  return size;
}

void Verifier::window(const Window& window, int64_t rank) {
  const auto check = [&](const google::protobuf::RepeatedField<int64_t>& field, int64_t least) {
    expect(field.size() == rank, "a window has not one entry per dimension");
    for (int64_t value : field)
      expect(value >= least && value <= (int64_t{1} << 31), "a window entry out of range");
  };
  check(window.size(), 1);
  check(window.stride(), 1);
  check(window.base_dilation(), 1);
  check(window.window_dilation(), 1);
  check(window.pad_low(), -(int64_t{1} << 31));
  check(window.pad_high(), -(int64_t{1} << 31));
  expect(window.reversal_size() == 0 || window.reversal_size() == rank,
         "a window has not one entry per dimension");
}

void Verifier::carried(const Carried& carried) {
  step_ = "of a carried value";
  const auto kind = [&](int32_t buffer) {
    expect(buffer >= 0 && buffer < plan_.buffers_size(), "a buffer that does not exist");
    return plan_.buffers(buffer).kind();
  };
  expect(kind(carried.buffer()) == Buffer::ARGUMENT, "its buffer is not an argument's");
  for (const Argument& argument : plan_.arguments())
    expect(argument.buffer() != carried.buffer(), "its buffer is an argument's own");
  expect(carried.next() == carried.buffer() || kind(carried.next()) == Buffer::RESULT,
         "its next buffer is neither its own nor a result's");
  expect(plan_.buffers(carried.next()).bytes() == plan_.buffers(carried.buffer()).bytes(),
         "its buffers differ in size");
  expect(carried.argument() >= 0 && carried.argument() < plan_.arguments_size(),
         "is made of an argument that does not exist");
  expect(carried.derive().has_elementwise(), "is made by a step that is not elementwise");
  elementwise(carried.derive().elementwise());
  kernel(carried.derive());
  for_each_view(carried.derive(), [&](const View& view, bool writes) {
    expect(writes ? view.buffer() == carried.buffer()
                  : view.buffer() == plan_.arguments(carried.argument()).buffer(),
           "is made of something else than its argument");
  });
}

void Verifier::sequence(const Sequence& sequence, int depth) {
  expect(depth < kMaxDepth, "loops and branches nested too deeply");
  for (const Step& s : sequence.steps()) {
    step_ = fmt::format("{} of {}", kind_name(s), s.op().empty() ? "no op" : s.op());
    step(s, depth);
    if (depth > 0) no_stream(s);
    kernel(s);
  }
}

void Verifier::step(const Step& step, int depth) {
  switch (step.kind_case()) {
    case Step::kElementwise:
      return elementwise(step.elementwise());
    case Step::kReduce:
      return reduce(step.reduce());
    case Step::kDot:
      return dot(step.dot());
    case Step::kConvolution:
      return convolution(step.convolution());
    case Step::kGather:
      return gather(step.gather());
    case Step::kScatter:
      return scatter(step.scatter());
    case Step::kDynamicSlice:
      return dynamic_slice(step.dynamic_slice().operand(), step.dynamic_slice().out(),
                           step.dynamic_slice().starts());
    case Step::kDynamicUpdateSlice: {
      const DynamicUpdateSlice& update = step.dynamic_update_slice();
      dynamic_slice(update.operand(), update.update(), update.starts());
      expect(view(update.out()) == dims_of(update.operand().shape()),
             "the result's shape differs from the operand's");
      return;
    }
    case Step::kReduceWindow:
      return reduce_window(step.reduce_window());
    case Step::kSelectAndScatter:
      return select_and_scatter(step.select_and_scatter());
    case Step::kSort:
      return sort(step.sort());
    case Step::kTopK:
      return top_k(step.top_k());
    case Step::kFft:
      return fft(step.fft());
    case Step::kCholesky:
      return cholesky(step.cholesky());
    case Step::kTriangularSolve:
      return triangular_solve(step.triangular_solve());
    case Step::kAttention:
      return attention(step.attention());
    case Step::kAttentionBackward:
      return attention_backward(step.attention_backward());
    case Step::kRngBitGenerator:
      return rng(step.rng_bit_generator());
    case Step::kAxisIndex:
      axes(step.axis_index().axes());
      scalar_view(step.axis_index().out());
      expect(step.axis_index().out().dtype() == S32, "an axis index is not an S32");
      return;
    case Step::kCollective:
      return collective(step.collective());
    case Step::kWhile:
      scalar_view(step.while_().predicate());
      expect(step.while_().predicate().dtype() == BOOL, "a loop predicate is not a BOOL");
      sequence(step.while_().condition(), depth + 1);
      sequence(step.while_().body(), depth + 1);
      return;
    case Step::kBranch: {
      scalar_view(step.branch().index());
      const DType dtype = step.branch().index().dtype();
      expect(dtype == S32 || (dtype == BOOL && step.branch().branches_size() == 2),
             "a branch index is neither an S32 nor a BOOL of two branches");
      expect(step.branch().branches_size() > 0, "no branches");
      for (const Sequence& branch : step.branch().branches()) sequence(branch, depth + 1);
      return;
    }
    case Step::kFused:
      return fused(step.fused());
    case Step::kGrouped:
      return grouped(step.grouped());
    case Step::KIND_NOT_SET:
      break;
  }
  fail("says nothing to do, or was written by a newer spmd");
}

}  // namespace spmd::plan
