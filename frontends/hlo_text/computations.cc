#include "frontends/hlo_text/computations.h"

#include <google/protobuf/arena.h>

#include <algorithm>

#include "frontends/hlo_proto/types.h"
#include "frontends/hlo_text/lists.h"
#include "frontends/hlo_text/literal.h"
#include "frontends/hlo_text/shape.h"
#include "support/error.h"

namespace spmd::hlo_text {
namespace {

using Instruction = hlo::HloInstructionProto;

constexpr int kMaxComputationDepth = 50;  // of computations in computations

// How XLA compares where nothing is said.
const char* default_comparison(hlo::PrimitiveType type) {
  const std::optional<DType> dtype = hlo_proto::dtype_of(type);
  if (!dtype) return "";
  if (is_float(*dtype) || is_complex(*dtype)) return "FLOAT";
  return is_signed_int(*dtype) ? "SIGNED" : "UNSIGNED";
}

void check_parameters(const hlo::HloComputationProto& computation, Scanner& scan, size_t place) {
  std::vector<int64_t> numbers;
  for (const Instruction& instruction : computation.instructions()) {
    if (instruction.opcode() == "parameter") numbers.push_back(instruction.parameter_number());
  }
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == static_cast<int64_t>(i)) continue;
    scan.fail(place, fmt::format("the parameters of computation \"{}\" are not numbered 0 to {}",
                                 computation.name(), numbers.size() - 1));
  }
}

}  // namespace

void ComputationsReader::read() {
  do read_computation();
  while (!scan_.at_end());
}

// [ENTRY] name [(parameters) -> result] { instructions } [, execution_thread="..."]
void ComputationsReader::read_computation() {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const bool is_entry = scan_.accept_word("ENTRY");
  if (is_entry && has_entry_) scan_.fail(start, "this is the second ENTRY computation");
  scan_.skip_blanks();
  const size_t name_start = scan_.position();
  const std::string_view name = scan_name(scan_, "a computation");
  if (scan_.peek("(")) read_signature();
  const hlo::HloComputationProto& computation = read_body(name, name_start);
  if (scan_.accept(",")) {
    scan_.expect_word("execution_thread");
    scan_.expect("=");
    skip_value(scan_);
  }
  if (!computations_.emplace(name, computation.id()).second) {
    scan_.fail(name_start, fmt::format("a second computation is named \"{}\"", name));
  }
  // Without ENTRY the last is the entry.
  if (is_entry || !has_entry_) {
    module_.set_entry_computation_id(computation.id());
    module_.set_entry_computation_name(computation.name());
  }
  has_entry_ = has_entry_ || is_entry;
}

hlo::HloComputationProto& ComputationsReader::read_body(std::string_view name, size_t place) {
  const DepthGuard guard(depth_, scan_, kMaxComputationDepth);
  NamedInstructions outer;
  outer.swap(instructions_);
  auto* computation =
      google::protobuf::Arena::CreateMessage<hlo::HloComputationProto>(module_.GetArena());
  computation->set_name(std::string(name));
  scan_.expect("{");
  while (!scan_.accept("}")) read_instruction(*computation);
  if (computation->instructions().empty()) {
    scan_.fail(place, fmt::format("computation \"{}\" has no instructions", name));
  }
  if (computation->root_id() == 0) {
    computation->set_root_id(computation->instructions().rbegin()->id());
  }
  check_parameters(*computation, scan_, place);
  outer.swap(instructions_);
  // Added when it is complete: callees come before callers.
  computation->set_id(module_.computations_size() + 1);
  module_.mutable_computations()->UnsafeArenaAddAllocated(computation);
  return *computation;
}

// Repeats what the parameters and the root say.
void ComputationsReader::read_signature() {
  hlo::ShapeProto unused;
  scan_list(scan_, "(", ")", [&] {
    scan_name(scan_, "a parameter");
    scan_.expect(":");
    unused.Clear();
    scan_shape(scan_, unused);
  });
  scan_.expect("->");
  unused.Clear();
  scan_shape(scan_, unused);
}

// [ROOT] name = shape opcode(operands), attributes
void ComputationsReader::read_instruction(hlo::HloComputationProto& computation) {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const bool is_root = scan_.accept_word("ROOT");
  if (is_root && computation.root_id() != 0) scan_.fail(start, "this is the second ROOT");
  scan_.skip_blanks();
  const size_t name_start = scan_.position();
  const std::string_view name = scan_name(scan_, "an instruction or '}'");
  Instruction& instruction = *computation.add_instructions();
  instruction.set_name(std::string(name));
  instruction.set_id(static_cast<int64_t>(instructions_by_id_.size()));
  instructions_by_id_.push_back(&instruction);
  if (is_root) computation.set_root_id(instruction.id());
  positions_.emplace(&instruction, name_start);

  scan_.expect("=");
  scan_shape(scan_, *instruction.mutable_shape());
  instruction.set_opcode(std::string(scan_word(scan_, "an opcode")));
  if (instruction.opcode() == "parameter") {
    read_parameter_number(instruction);
  } else if (instruction.opcode() == "constant") {
    read_constant(instruction);
  } else {
    read_operands(instruction);
  }
  set_implied(instruction);
  scan_attributes(scan_, *this, instruction);
  if (!instructions_.emplace(name, &instruction).second) {
    scan_.fail(name_start, fmt::format("a second instruction is named \"{}\"", name));
  }
}

// (f32[2]{0} %a, b): shapes repeat those of the operands.
void ComputationsReader::read_operands(Instruction& instruction) {
  hlo::ShapeProto unused;
  scan_list(scan_, "(", ")", [&] {
    unused.Clear();
    if (peek_shape(scan_)) scan_shape(scan_, unused);
    instruction.add_operand_ids(instruction_named(scan_).id());
  });
}

void ComputationsReader::read_parameter_number(Instruction& instruction) {
  scan_.expect("(");
  instruction.set_parameter_number(scan_.expect_integer("a parameter's number"));
  scan_.expect(")");
}

void ComputationsReader::read_constant(Instruction& instruction) {
  scan_.expect("(");
  scan_literal(scan_, instruction.shape(), *instruction.mutable_literal());
  scan_.expect(")");
}

// What the text leaves out and the message has.
void ComputationsReader::set_implied(Instruction& instruction) const {
  if (instruction.opcode() == "topk") instruction.set_largest(true);
  if (instruction.opcode() != "compare" || instruction.operand_ids().empty()) return;
  const Instruction& operand =
      *instructions_by_id_[static_cast<size_t>(instruction.operand_ids(0))];
  instruction.set_comparison_type(default_comparison(operand.shape().element_type()));
}

const Instruction& ComputationsReader::instruction_named(Scanner& scan) const {
  scan.skip_blanks();
  const size_t start = scan.position();
  const std::string_view name = scan_name(scan, "an operand");
  const auto found = instructions_.find(name);
  if (found == instructions_.end()) {
    scan.fail(start, fmt::format("no instruction \"{}\" stands before this", name),
              "expected operands to be defined before they are used");
  }
  return *found->second;
}

int64_t ComputationsReader::scan_instruction(Scanner& scan) { return instruction_named(scan).id(); }

int64_t ComputationsReader::scan_computation(Scanner& scan) {
  scan.skip_blanks();
  const size_t start = scan.position();
  if (scan.peek("{")) {
    hlo::HloComputationProto& body = read_body("_", start);
    if (nameless_++ > 0) body.set_name(fmt::format("_.{}", nameless_ - 1));
    return body.id();
  }
  const std::string_view name = scan_name(scan, "a computation");
  const auto found = computations_.find(name);
  if (found == computations_.end()) {
    scan.fail(start, fmt::format("no computation \"{}\" stands before this", name),
              "expected computations to be defined before they are called");
  }
  return found->second;
}

std::string ComputationsReader::place_of(const Instruction& instruction) const {
  return scan_.place(positions_.at(&instruction));
}

int ComputationsReader::line_of(const Instruction& instruction) const {
  return scan_.line_column(positions_.at(&instruction)).line;
}

}  // namespace spmd::hlo_text
