#include "runtime/device/cpu/tile_program.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/device/cpu/special_loops.h"
#include "runtime/device/cpu/sub_byte_loops.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::cpu {
namespace {

#define SPMD_TILE_OP(name, plan_name) \
  static_assert(static_cast<int>(TileOp::name) == static_cast<int>(plan::plan_name));
SPMD_TILE_OPS(SPMD_TILE_OP)
#undef SPMD_TILE_OP

template <int kBytes>
void move_tile(void* out, const void* const* args, int64_t n, int64_t) {
  if (out != args[0]) std::memmove(out, args[0], static_cast<size_t>(n * kBytes));
}

TileLoop mover(int64_t bytes) {
  switch (bytes) {
    case 1:
      return move_tile<1>;
    case 2:
      return move_tile<2>;
    case 4:
      return move_tile<4>;
    case 8:
      return move_tile<8>;
    default:
      return move_tile<16>;
  }
}

// To floats that are rounded once more afterwards: keeps that from rounding twice.
template <typename From>
void to_float_odd(void* out, const void* const* args, int64_t n, int64_t) {
  auto* o = static_cast<float*>(out);
  const auto* a = static_cast<const From*>(args[0]);
  // Backwards or forwards does not matter: registers of different sizes never share a slot.
  for (int64_t i = 0; i < n; ++i) o[i] = double_to_float_odd(static_cast<double>(a[i]));
}

TileLoop narrowing_convert(Lane from) {
  switch (from) {
    case Lane::kF64:
      return to_float_odd<double>;
    case Lane::kS32:
      return to_float_odd<int32_t>;
    case Lane::kS64:
      return to_float_odd<int64_t>;
    case Lane::kU32:
      return to_float_odd<uint32_t>;
    case Lane::kU64:
      return to_float_odd<uint64_t>;
    default:
      return loops().find_convert(from, Lane::kF32);
  }
}

int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Lane lane_of(plan::DType dtype) {
  switch (dtype) {
    case plan::BOOL:
      return Lane::kBool;
    case plan::S2:
    case plan::S4:
    case plan::S8:
      return Lane::kS8;
    case plan::S16:
      return Lane::kS16;
    case plan::S32:
      return Lane::kS32;
    case plan::S64:
      return Lane::kS64;
    case plan::U2:
    case plan::U4:
    case plan::U8:
      return Lane::kU8;
    case plan::U16:
      return Lane::kU16;
    case plan::U32:
      return Lane::kU32;
    case plan::U64:
      return Lane::kU64;
    case plan::F64:
      return Lane::kF64;
    case plan::C64:
      return Lane::kC64;
    case plan::C128:
      return Lane::kC128;
    default:
      return Lane::kF32;
  }
}

int64_t lane_bytes(Lane lane) {
  switch (lane) {
    case Lane::kBool:
    case Lane::kS8:
    case Lane::kU8:
      return 1;
    case Lane::kS16:
    case Lane::kU16:
      return 2;
    case Lane::kS32:
    case Lane::kU32:
    case Lane::kF32:
      return 4;
    case Lane::kS64:
    case Lane::kU64:
    case Lane::kF64:
    case Lane::kC64:
      return 8;
    case Lane::kC128:
      return 16;
  }
  return 0;
}

bool is_packed(plan::DType dtype) {
  return plan::is_narrow_float(dtype) || plan::is_sub_byte_int(dtype);
}

Packed packed_of(plan::DType dtype) {
  switch (dtype) {
    case plan::S4:
      return Packed::kS4;
    case plan::U4:
      return Packed::kU4;
    case plan::S2:
      return Packed::kS2;
    case plan::U2:
      return Packed::kU2;
#define SPMD_PACKED(Type, name) \
  case plan::Type:              \
    return Packed::k##Type;
      SPMD_BYTE_FLOATS(SPMD_PACKED)
#undef SPMD_PACKED
    case plan::F16:
      return Packed::kF16;
    default:
      return Packed::kBF16;
  }
}

TileProgram::TileProgram(const plan::ScalarProgram& program,
                         const std::vector<bool>& uniform_inputs, int64_t tile,
                         int64_t workspace_begin, LoadContext& context)
    : tile_(tile), num_inputs_(program.inputs_size()) {
  for (int i = 0; i < program.inputs_size(); ++i) {
    dtypes_.push_back(program.inputs(i));
    lanes_.push_back(lane_of(program.inputs(i)));
    uniform_.push_back(uniform_inputs[static_cast<size_t>(i)]);
  }
  for (const plan::Instruction& instruction : program.instructions())
    add(instruction, static_cast<int32_t>(dtypes_.size()), context);
  outputs_.assign(program.outputs().begin(), program.outputs().end());
  assign_slots(workspace_begin);
  find_redirectable();
  context.need_workspace(workspace_end_);
}

void TileProgram::add(const plan::Instruction& instruction, int32_t reg, LoadContext& context) {
  const Lane lane = lane_of(instruction.dtype());
  bool uniform = instruction.op() != plan::IOTA;
  for (int32_t arg : instruction.args()) uniform = uniform && is_uniform(arg);
  TileLoop loop = nullptr;
  if (instruction.op() == plan::IOTA) {
    iotas_.push_back({reg, instruction.immediate(), lane});
  } else if (instruction.op() == plan::CONSTANT) {
    constants_.emplace_back(reg, instruction.constant());
  } else {
    loop = find_loop(instruction, context);
  }
  dtypes_.push_back(instruction.dtype());
  lanes_.push_back(lane);
  uniform_.push_back(uniform);
  if (!loop) return;
  Instruction compiled{loop, nullptr, {0, 0, 0}, reg, instruction.immediate(), uniform};
  // Places without operand repeat the first one.
  for (int i = 0; i < 3; ++i)
    compiled.args[i] = instruction.args(i < instruction.args_size() ? i : 0);
  const bool exact =
      instruction.op() == plan::SELECT || instruction.op() == plan::NOP ||
      instruction.op() == plan::MAXIMUM || instruction.op() == plan::MINIMUM ||
      (instruction.op() == plan::BITCAST_CONVERT && !plan::is_sub_byte_int(instruction.dtype()));
  if (is_packed(instruction.dtype()) && !exact)
    compiled.round = loops().round[static_cast<int>(packed_of(instruction.dtype()))];
  (uniform ? prologue_ : instructions_).push_back(compiled);
}

TileLoop TileProgram::find_loop(const plan::Instruction& instruction, LoadContext& context) const {
  const LoopTable& table = loops();
  const auto op = static_cast<TileOp>(instruction.op());
  const auto dtype = [&](int i) { return dtypes_[static_cast<size_t>(instruction.args(i))]; };
  const plan::DType from = dtype(0), to = instruction.dtype();
  const bool sub_byte = plan::is_sub_byte_int(from);
  TileLoop loop = nullptr;
  switch (instruction.op()) {
    case plan::COMPARE:
      if (dtype(1) == from && to == plan::BOOL)
        loop = table.find_compare(instruction.comparison(), lane_of(from));
      break;
    case plan::CONVERT:
      loop = plan::is_narrow_float(to) ? narrowing_convert(lane_of(from))
                                       : find_sub_byte_convert(lane_of(from), to);
      if (!loop) loop = table.find_convert(lane_of(from), lane_of(to));
      break;
    case plan::NOP:
      if (from == to) loop = mover(lane_bytes(lane_of(to)));
      break;
    case plan::BITCAST_CONVERT:
      if (plan::byte_size(from) != plan::byte_size(to)) break;
      if (plan::is_narrow_float(from) && plan::is_narrow_float(to)) {
        if (from == to) loop = mover(4);
      } else if (plan::is_narrow_float(from)) {
        loop = table.narrow[static_cast<int>(packed_of(from))];
      } else if (plan::is_narrow_float(to)) {
        loop = table.widen[static_cast<int>(packed_of(to))];
      } else {
        loop = mover(plan::byte_size(to));
      }
      break;
    case plan::SELECT:
      if (from == plan::BOOL && dtype(1) == to && dtype(2) == to)
        loop = table.find(op, lane_of(to));
      break;
    case plan::COUNT_LEADING_ZEROS:
    case plan::POPULATION_COUNT:
    case plan::SHIFT_RIGHT_LOGICAL:
    case plan::SHIFT_LEFT:
    case plan::SHIFT_RIGHT_ARITHMETIC:
      if (from != to) break;
      loop = sub_byte ? find_sub_byte_loop(instruction.op(), from) : table.find(op, lane_of(from));
      break;
    case plan::IS_FINITE:
      if (to == plan::BOOL) loop = table.find(op, lane_of(from));
      break;
    case plan::COMPLEX:
    case plan::IMAG:
    case plan::REAL:
      break;
    default: {
      bool same = true;
      for (int i = 0; i < instruction.args_size(); ++i) same = same && dtype(i) == to;
      if (same) loop = table.find(op, lane_of(to));
    }
  }
  const bool alike = instruction.args_size() < 2 || dtype(1) == from;
  if (!loop && alike) loop = find_special_loop(instruction.op(), lane_of(from), lane_of(to));
  if (!loop)
    throw UserError(context.op, fmt::format("no CPU kernel for {} of {} to {}",
                                            plan::ScalarOp_Name(instruction.op()),
                                            plan::dtype_name(from), plan::dtype_name(to)));
  return loop;
}

// Registers that vary share slots: a slot is free again after its register's last use. Slots of
// uniform registers, constants, iotas and outputs stay.
void TileProgram::assign_slots(int64_t begin) {
  const size_t count = dtypes_.size();
  std::vector<size_t> last_use(count, 0);
  std::vector<bool> stays(count, false);
  std::vector<bool> read_by_varying(count, false);
  for (size_t i = 0; i < instructions_.size(); ++i)
    for (int32_t arg : instructions_[i].args) {
      last_use[static_cast<size_t>(arg)] = i;
      read_by_varying[static_cast<size_t>(arg)] = true;
    }
  for (int32_t output : outputs_) {
    stays[static_cast<size_t>(output)] = true;
    read_by_varying[static_cast<size_t>(output)] = true;
  }
  slots_.assign(count, 0);
  int64_t end = begin;
  std::map<int64_t, std::vector<int64_t>> free;  // by bytes
  const auto take = [&](size_t reg) {
    const int64_t bytes = align(tile_ * lane_bytes(lanes_[reg]));
    std::vector<int64_t>& slots = free[bytes];
    if (slots.empty()) {
      slots_[reg] = end;
      end += bytes;
    } else {
      slots_[reg] = slots.back();
      slots.pop_back();
    }
  };
  std::vector<bool> varying(count, false);
  for (const Instruction& instruction : instructions_)
    varying[static_cast<size_t>(instruction.out)] = true;
  for (size_t reg = 0; reg < count; ++reg) {
    if (varying[reg]) continue;
    take(reg);
    if (uniform_[reg] && read_by_varying[reg]) broadcast_.push_back(static_cast<int32_t>(reg));
  }
  for (size_t i = 0; i < instructions_.size(); ++i) {
    take(static_cast<size_t>(instructions_[i].out));
    for (size_t a = 0; a < 3; ++a) {
      const auto arg = static_cast<size_t>(instructions_[i].args[a]);
      const bool repeated = std::find(instructions_[i].args, instructions_[i].args + a,
                                      instructions_[i].args[a]) != instructions_[i].args + a;
      if (varying[arg] && !stays[arg] && last_use[arg] == i && !repeated)
        free[align(tile_ * lane_bytes(lanes_[arg]))].push_back(slots_[arg]);
    }
  }
  workspace_end_ = end;
}

// An output computed early must not overwrite an input that is read later.
void TileProgram::find_redirectable() {
  int32_t last_reader = -1;  // register of the last instruction that reads an input
  for (const Instruction& instruction : instructions_)
    for (int32_t arg : instruction.args)
      if (arg < num_inputs_) last_reader = std::max(last_reader, instruction.out);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int32_t reg = outputs_[i];
    const bool again = std::count(outputs_.begin(), outputs_.end(), reg) > 1;
    const bool computed = std::any_of(instructions_.begin(), instructions_.end(),
                                      [&](const Instruction& in) { return in.out == reg; });
    redirectable_.push_back(computed && !again && reg >= last_reader);
  }
}

void TileProgram::bind(std::byte* workspace) {
  workspace_ = workspace;
  at_.resize(slots_.size());
  for (size_t reg = 0; reg < slots_.size(); ++reg) at_[reg] = workspace + slots_[reg];
}

void TileProgram::execute(const Instruction& instruction, int64_t n) {
  const void* args[3] = {at(instruction.args[0]), at(instruction.args[1]), at(instruction.args[2])};
  void* out = at(instruction.out);
  instruction.loop(out, args, n, instruction.immediate);
  if (instruction.round) {
    const void* result = out;
    instruction.round(out, &result, n, 0);
  }
}

void TileProgram::fill(int32_t reg, int64_t n) {
  int log2 = 0;
  for (int64_t bytes = lane_bytes(lane(reg)); bytes > 1; bytes /= 2) ++log2;
  loops().copy[log2](at(reg), 1, at(reg), 0, n);
}

void TileProgram::run_uniform(int64_t n) {
  for (const auto& [reg, bytes] : constants_) {
    const plan::DType dtype = dtypes_[static_cast<size_t>(reg)];
    if (is_packed(dtype)) {
      const void* stored = bytes.data();
      loops().widen[static_cast<int>(packed_of(dtype))](at(reg), &stored, 1, 0);
    } else {
      std::memcpy(at(reg), bytes.data(), bytes.size());
    }
  }
  for (const Instruction& instruction : prologue_) execute(instruction, 1);
  if (n > 1)
    for (int32_t reg : broadcast_) fill(reg, n);
}

void TileProgram::run(int64_t n) {
  for (const Instruction& instruction : instructions_) execute(instruction, n);
}

}  // namespace spmd::cpu
