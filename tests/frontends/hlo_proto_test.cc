// What opcodes, tuples, calls and annotations of an HloModuleProto become.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/frontends/hlo_text.h"

namespace spmd {
namespace {

std::string shape(const std::string& type, std::vector<int> dims = {}) {
  std::string text = "shape { element_type: " + type;
  for (int dim : dims) text += " dimensions: " + std::to_string(dim);
  return text + " } ";
}

std::string instruction(int id, const std::string& opcode, const std::string& shape_text,
                        std::vector<int> operands = {}, const std::string& rest = {}) {
  std::string text = "instructions { name: '" + opcode + "." + std::to_string(id) + "' opcode: '" +
                     opcode + "' id: " + std::to_string(id) + " " + shape_text;
  for (int operand : operands) text += " operand_ids: " + std::to_string(operand);
  return text + " " + rest + " }\n";
}

std::string parameter(int id, int number, const std::string& shape_text,
                      const std::string& rest = {}) {
  return instruction(id, "parameter", shape_text, {},
                     "parameter_number: " + std::to_string(number) + " " + rest);
}

// Whether `parts` occur in `text` in this order.
::testing::AssertionResult contains(const std::string& text, std::vector<std::string> parts) {
  size_t at = 0;
  for (const std::string& part : parts) {
    at = text.find(part, at);
    if (at == std::string::npos)
      return ::testing::AssertionFailure() << part << " not in\n" << text;
    at += part.size();
  }
  return ::testing::AssertionSuccess();
}

std::string imported(const hlo::HloModuleProto& proto) {
  return print_stablehlo(import_hlo(proto, "test.pb"));
}

const std::string kF32 = shape("F32");
const std::string kF32x4 = shape("F32", {4});

TEST(HloProto, TuplesAreFlattened) {
  const std::string pair =
      "shape { element_type: TUPLE tuple_shapes { element_type: F32 dimensions: 4 } tuple_shapes { "
      "element_type: TUPLE tuple_shapes { element_type: S32 } tuple_shapes { element_type: F32 "
      "dimensions: 4 } } } ";
  const std::string inner =
      "shape { element_type: TUPLE tuple_shapes { element_type: S32 } tuple_shapes { element_type: "
      "F32 dimensions: 4 } } ";
  const Module module = import_hlo(
      hlo_module(parameter(1, 0, pair) +
                     instruction(2, "get-tuple-element", inner, {1}, "tuple_index: 1") +
                     instruction(3, "get-tuple-element", kF32x4, {2}, "tuple_index: 1") +
                     instruction(4, "negate", kF32x4, {3}) +
                     instruction(5, "tuple",
                                 "shape { element_type: TUPLE tuple_shapes { element_type: F32 "
                                 "dimensions: 4 } } ",
                                 {4}),
                 5),
      "test.pb");
  EXPECT_EQ(module.main().arguments().size(), 3u);
  EXPECT_EQ(module.main().results().size(), 1u);
  EXPECT_EQ(module.main().num_live_ops(), 2u);
}

const char* kAddComputation =
    "computations { name: 'sum' id: 1 root_id: 3"
    " instructions { name: 'a' opcode: 'parameter' shape { element_type: F32 } id: 1 }"
    " instructions { name: 'b' opcode: 'parameter' shape { element_type: F32 } id: 2"
    "   parameter_number: 1 }"
    " instructions { name: 'c' opcode: 'add' shape { element_type: F32 } id: 3 operand_ids: 1"
    "   operand_ids: 2 } }\n";

TEST(HloProto, ReducersBecomeRegions) {
  EXPECT_TRUE(contains(
      imported(hlo_module(
          parameter(1, 0, kF32x4) +
              instruction(2, "constant", kF32, {},
                          "literal { shape { element_type: F32 } f32s: 0 }") +
              instruction(3, "reduce", kF32, {1, 2}, "dimensions: 0 called_computation_ids: 1"),
          3, kAddComputation)),
      {"stablehlo.reduce(%", "applies stablehlo.add across dimensions = [0]"}));
}

TEST(HloProto, MapIsTheComputationOnWholeTensors) {
  const std::string text = imported(hlo_module(
      parameter(1, 0, kF32x4) + parameter(2, 1, kF32x4) +
          instruction(3, "map", kF32x4, {1, 2}, "dimensions: 0 called_computation_ids: 1"),
      3, kAddComputation));
  EXPECT_TRUE(contains(text, {"stablehlo.add %", ": tensor<4xf32>"}));
}

TEST(HloProto, CalledComputationsAreSharedFunctions) {
  const Module module =
      import_hlo(hlo_module(parameter(1, 0, kF32) +
                                instruction(2, "call", kF32, {1, 1}, "called_computation_ids: 1") +
                                instruction(3, "call", kF32, {2, 1}, "called_computation_ids: 1"),
                            3, kAddComputation),
                 "test.pb");
  ASSERT_EQ(module.functions().size(), 2u);
  EXPECT_TRUE(module.function(1).is_private());
  EXPECT_EQ(module.function(1).name(), "sum");
}

TEST(HloProto, WhileNamesItsBodyFirst) {
  const std::string body =
      "computations { name: 'body' id: 2 root_id: 2 "
      "instructions { name: 'a' opcode: 'parameter' shape { element_type: S32 } id: 1 } "
      "instructions { name: 'n' opcode: 'negate' shape { element_type: S32 } id: 2 operand_ids: 1 }"
      "}\n";
  const std::string condition =
      "computations { name: 'cond' id: 3 root_id: 2 "
      "instructions { name: 'a' opcode: 'parameter' shape { element_type: S32 } id: 1 } "
      "instructions { name: 'c' opcode: 'compare' shape { element_type: PRED } id: 2 operand_ids: "
      "1 "
      "operand_ids: 1 comparison_direction: 'LT' comparison_type: 'SIGNED' } }\n";
  EXPECT_TRUE(contains(
      imported(hlo_module(parameter(1, 0, shape("S32")) +
                              instruction(2, "while", shape("S32"), {1},
                                          "called_computation_ids: 2 called_computation_ids: 3"),
                          2, body + condition)),
      {"stablehlo.while", "cond", "stablehlo.compare", "do", "stablehlo.negate"}));
}

TEST(HloProto, ConditionalsOnBooleansAreIfs) {
  EXPECT_TRUE(contains(
      imported(hlo_module(
          parameter(1, 0, shape("PRED")) + parameter(2, 1, kF32) +
              instruction(3, "tuple",
                          "shape { element_type: TUPLE tuple_shapes { element_type: F32 } "
                          "tuple_shapes { element_type: F32 } }",
                          {2, 2}) +
              instruction(4, "conditional", kF32, {1, 3, 2},
                          "called_computation_ids: 2 called_computation_ids: 3"),
          4,
          "computations { name: 't' id: 2 root_id: 2 instructions { name: 'a' opcode: 'parameter' "
          "shape { element_type: TUPLE tuple_shapes { element_type: F32 } tuple_shapes { "
          "element_type: F32 } } id: 1 } instructions { name: 'g' opcode: 'get-tuple-element' "
          "shape { element_type: F32 } id: 2 operand_ids: 1 tuple_index: 1 } }"
          "computations { name: 'f' id: 3 root_id: 2 instructions { name: 'a' opcode: 'parameter' "
          "shape { element_type: F32 } id: 1 } instructions { name: 'n' opcode: 'negate' "
          "shape { element_type: F32 } id: 2 operand_ids: 1 } }")),
      {"stablehlo.if", "stablehlo.return %arg1", "stablehlo.negate %arg1"}));
}

TEST(HloProto, ConstantsAreReadInTheOrderOfTheirLayout) {
  const Module module = import_hlo(
      hlo_module(instruction(1, "constant", shape("S32", {2, 3}), {},
                             "literal { shape { element_type: S32 dimensions: 2 dimensions: 3 "
                             "layout { minor_to_major: 0 minor_to_major: 1 } } s32s: 0 s32s: 3 "
                             "s32s: 1 s32s: 4 s32s: 2 s32s: 5 }"),
                 1),
      "test.pb");
  const Function& main = module.main();
  const Literal& value = main.def(main.results()[0])->as<ConstantAttrs>().value;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(value.as_int(i), i);
}

TEST(HloProto, TopKHasSeveralSpellings) {
  const std::string pair =
      "shape { element_type: TUPLE tuple_shapes { element_type: F32 dimensions: 2 } tuple_shapes { "
      "element_type: S32 dimensions: 2 } } ";
  for (const auto& [opcode, rest] :
       {std::pair<std::string, std::string>{"topk", "k: 2 largest: true"},
        {"custom-call", "custom_call_target: 'TopK'"},
        {"custom-call", "custom_call_target: 'mhlo.topk' backend_config: '{k = 2 : i64}'"}}) {
    EXPECT_TRUE(contains(
        imported(hlo_module(parameter(1, 0, kF32x4) + instruction(2, opcode, pair, {1}, rest), 2)),
        {"chlo.top_k(%arg0, k = 2)"}))
        << opcode << rest;
  }
}

TEST(HloProto, ArgumentsAreNamedByScopeElseByInstruction) {
  const Module module = import_hlo(
      hlo_module(
          "instructions { name: 'p__w__.1' opcode: 'parameter' id: 1 " + kF32 +
              " metadata { op_name: \"p['w']\" } }"
              "instructions { name: 'bias.7' opcode: 'parameter' id: 2 parameter_number: 1 " +
              kF32 +
              "} instructions { name: 'Arg_2.3' opcode: 'parameter' id: 3 "
              "parameter_number: 2 " +
              kF32 + "}" + instruction(4, "add", kF32, {1, 2}),
          4),
      "test.pb");
  const Function& main = module.main();
  EXPECT_EQ(main.argument_info[0].name, "p['w']");
  EXPECT_EQ(main.argument_info[1].name, "bias");
  EXPECT_EQ(main.argument_info[2].name, "");
}

TEST(HloProto, AliasesAndDonorsOfTupledArgumentsAreTheirLeaves) {
  const std::string pair =
      "shape { element_type: TUPLE tuple_shapes { element_type: F32 } tuple_shapes { element_type: "
      "F32 dimensions: 4 } } ";
  const Module module = import_hlo(
      hlo_module(parameter(1, 0, pair) +
                     instruction(2, "get-tuple-element", kF32x4, {1}, "tuple_index: 1"),
                 2, {},
                 "input_output_alias { entries { parameter_number: 0 parameter_shape_index: 1 } } "
                 "buffer_donor { entries { parameter_number: 0 parameter_shape_index: 0 } }"),
      "test.pb");
  const Function& main = module.main();
  EXPECT_EQ(main.argument_info[0].aliased_result, -1);
  EXPECT_TRUE(main.argument_info[0].donated);
  EXPECT_EQ(main.argument_info[1].aliased_result, 0);
}

TEST(HloProto, LocationsComeFromMetadataOrStackFrames) {
  const Module module = import_hlo(
      hlo_module(
          parameter(1, 0, kF32) +
              instruction(2, "negate", kF32, {1},
                          "metadata { op_name: 'jit(f)/neg' stack_frame_id: 1 }") +
              instruction(3, "abs", kF32, {2}, "metadata { source_file: 'b.py' source_line: 7 }"),
          3, {},
          "stack_frame_index { file_names: 'a.py' file_locations { file_name_id: 1 line: 3 } "
          "stack_frames { file_location_id: 1 } }"),
      "test.pb");
  const Function& main = module.main();
  const Op& abs = *main.def(main.results()[0]);
  EXPECT_EQ(abs.location->to_string(), "b.py:7");
  EXPECT_EQ(main.def(abs.operands[0])->location->to_string(), "jit(f)/neg (a.py:3)");
}

TEST(HloProto, EverythingUnsupportedIsListedAtOnce) {
  const std::string error = import_error(
      hlo_module(parameter(1, 0, kF32) + instruction(2, "infeed", kF32, {1}) +
                     instruction(3, "infeed", kF32, {1}) +
                     instruction(4, "custom-call", kF32, {1},
                                 "custom_call_target: 'lapack_sgetrf_ffi' metadata { op_name: 'lu' "
                                 "source_file: 'a.py' source_line: 3 }"),
                 4));
  EXPECT_EQ(
      error,
      "test.pb: 2 kinds of op are not supported:\n"
      "  custom-call \"lapack_sgetrf_ffi\" (1x, first \"custom-call.4\" at lu (a.py:3))\n"
      "  infeed (2x, first \"infeed.2\")\n"
      "  other linear algebra (LU, QR, eigenvalues, singular values): StableHLO has no op for "
      "it: compute it outside of the step, or with Cholesky factors and triangular solves\n"
      "  express the program without them");
}

TEST(HloProto, OptimisedModulesAreRecognised) {
  const std::string error =
      import_error(hlo_module(parameter(1, 0, kF32) + instruction(2, "fusion", kF32, {1}), 2));
  EXPECT_TRUE(contains(
      error, {"1 kind of op is not supported", "fusion (1x", "written after XLA's optimisations"}));
}

TEST(HloProto, DamagedModulesAreRefused) {
  const auto error = [](const std::string& instructions, int root = 2,
                        const std::string& others = {}) {
    return import_error(hlo_module(instructions, root, others));
  };
  const std::string p = parameter(1, 0, kF32);
  EXPECT_TRUE(contains(error(p + instruction(2, "negate", kF32, {5})), {"does not exist"}));
  EXPECT_TRUE(contains(error(p + instruction(2, "negate", kF32)),
                       {"negate.2", "found 0 operands, expected 1"}));
  EXPECT_TRUE(contains(error(instruction(2, "negate", kF32, {1}) + p), {"not defined before it"}));
  EXPECT_TRUE(contains(error(p, 7), {"has no root instruction"}));
  EXPECT_TRUE(contains(error(p + instruction(1, "negate", kF32, {1})), {"two instructions"}));
  EXPECT_TRUE(contains(error(parameter(1, 1, kF32) + instruction(2, "negate", kF32, {1})),
                       {"lacks its parameter 0"}));
  EXPECT_TRUE(contains(error(p + instruction(2, "call", kF32, {1}, "called_computation_ids: 9")),
                       {"not defined before it"}));
  EXPECT_TRUE(contains(
      error(p + instruction(2, "call", kF32, {1}, "called_computation_ids: 1"), 2, kAddComputation),
      {"does not match the signature of @sum"}));
  EXPECT_TRUE(contains(error(p + instruction(2, "add", shape("F32", {4}), {1, 1})), {"add"}));
  EXPECT_TRUE(
      contains(error(instruction(2, "constant", kF32x4, {},
                                 "literal { shape { element_type: F32 dimensions: 4 } f32s: 1 }")),
               {"holds 4 bytes of elements, expected 16"}));
  EXPECT_TRUE(contains(
      error(instruction(2, "iota",
                        "shape { element_type: F32 dimensions: 4611686018427387904 dimensions: 8 }",
                        {}, "dimensions: 0")),
      {"larger than any memory"}));
}

}  // namespace
}  // namespace spmd
