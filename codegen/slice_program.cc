#include "codegen/slice_program.h"

namespace spmd::codegen {

std::vector<bool> needed_registers(const plan::Elementwise& step, const std::vector<int>& outputs,
                                   const std::map<int, plan::View>& loads) {
  const plan::ScalarProgram& program = step.program();
  std::vector<bool> needed(static_cast<size_t>(program.inputs_size() + program.instructions_size()),
                           false);
  for (int output : outputs) needed[static_cast<size_t>(output)] = true;
  for (int i = program.instructions_size(); i-- > 0;) {
    const int result = program.inputs_size() + i;
    if (!needed[static_cast<size_t>(result)] || loads.contains(result)) continue;
    for (int arg : program.instructions(i).args()) needed[static_cast<size_t>(arg)] = true;
  }
  return needed;
}

plan::Elementwise slice_program(const plan::Elementwise& step,
                                const std::vector<std::pair<int, plan::View>>& outputs,
                                const std::map<int, plan::View>& loads) {
  const plan::ScalarProgram& program = step.program();
  std::vector<int> wanted;
  for (const auto& [output, view] : outputs) wanted.push_back(output);
  const std::vector<bool> needed = needed_registers(step, wanted, loads);

  plan::Elementwise result;
  *result.mutable_shape() = step.shape();
  plan::ScalarProgram& part = *result.mutable_program();
  std::vector<int> numbers(needed.size(), -1);
  int next = 0;
  const auto load = [&](int number, plan::DType dtype, const plan::View& view) {
    numbers[static_cast<size_t>(number)] = next++;
    part.add_inputs(dtype);
    *result.add_inputs() = view;
  };
  for (int i = 0; i < program.inputs_size(); ++i) {
    if (!needed[static_cast<size_t>(i)]) continue;
    const auto known = loads.find(i);
    load(i, program.inputs(i), known != loads.end() ? known->second : step.inputs(i));
  }
  for (int i = 0; i < program.instructions_size(); ++i) {
    const int number = program.inputs_size() + i;
    const auto known = loads.find(number);
    if (needed[static_cast<size_t>(number)] && known != loads.end())
      load(number, program.instructions(i).dtype(), known->second);
  }
  for (int i = 0; i < program.instructions_size(); ++i) {
    const auto number = static_cast<size_t>(program.inputs_size() + i);
    if (!needed[number] || numbers[number] >= 0) continue;
    plan::Instruction& instruction = *part.add_instructions();
    instruction = program.instructions(i);
    for (int& arg : *instruction.mutable_args()) arg = numbers[static_cast<size_t>(arg)];
    numbers[number] = next++;
  }
  for (const auto& [output, view] : outputs) {
    part.add_outputs(numbers[static_cast<size_t>(output)]);
    *result.add_outputs() = view;
  }
  return result;
}

}  // namespace spmd::codegen
