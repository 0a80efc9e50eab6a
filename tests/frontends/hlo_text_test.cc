// What the constructs of HLO text mean. That whole modules mean what XLA reads from them is
// hlo_text_programs_test.cc's.
#include <bit>

#include "frontends/frontend.h"
#include "ir/text.h"
#include "tests/frontends/hlo_text_testing.h"

namespace spmd {
namespace {

using testing::constant_result;
using testing::hlo_constant;
using testing::hlo_entry;
using testing::import_hlo_entry;

template <typename T>
std::vector<T> elements(const Literal& literal) {
  const Literal all = literal.expanded();
  return std::vector<T>(all.as<T>(), all.as<T>() + all.type().num_elements());
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(HloText, IsRecognisedByContent) {
  const std::string text = hlo_entry("  ROOT x = f32[4] parameter(0)\n");
  EXPECT_EQ(import_bytes(text, "model").main().arguments().size(), 1u);
  EXPECT_EQ(import_bytes("\n// dumped\n" + text, "model").main().arguments().size(), 1u);
  EXPECT_EQ(import_bytes("\xef\xbb\xbf" + text, "model").main().arguments().size(), 1u);
}

TEST(HloText, EntryAndRootAreTheLastWhenNothingSaysSo) {
  const Module module = import_hlo_text(
      "HloModule m\nneg { n = f32[] parameter(0) ROOT m = f32[] negate(n) k = f32[] abs(n) }\n"
      "main { p = f32[4] parameter(0) q = f32[4] negate(p) }",
      "test.hlo");
  EXPECT_EQ(module.name, "m");
  const Function& main = module.main();
  EXPECT_EQ(main.arguments().size(), 1u);
  EXPECT_EQ(main.def(main.results()[0])->code, OpCode::kNegate);
}

TEST(HloText, EntryMayStandBeforeOtherComputations) {
  const Module module = import_hlo_text(
      "HloModule m\nENTRY main { p = f32[4] parameter(0) ROOT q = f32[4] abs(p) }\n"
      "unused { n = f32[] parameter(0) ROOT m = f32[] negate(n) }",
      "test.hlo");
  const Function& main = module.main();
  EXPECT_EQ(main.def(main.results()[0])->code, OpCode::kAbs);
  EXPECT_EQ(module.functions().size(), 1u);
}

TEST(HloText, DevicesAreThoseOfTheHeaderWhenNoShardingTells) {
  const std::string rest = "\nENTRY e { ROOT x = f32[4] parameter(0), sharding={replicated} }\n";
  EXPECT_EQ(import_hlo_text("HloModule m" + rest, "t").mesh.num_devices(), 1);
  EXPECT_EQ(import_hlo_text("HloModule m, num_partitions=4" + rest, "t").mesh.to_string(),
            "axis_0=4");
  EXPECT_EQ(import_hlo_text("HloModule m, replica_count=2, num_partitions=4" + rest, "t")
                .mesh.num_devices(),
            8);
}

TEST(HloText, AliasingAndDonorsNameArgumentsAndResults) {
  const Module module = import_hlo_text(
      "HloModule m, input_output_alias={ {1}: (0, {}, must-alias), {0}: (1, {1}) }, "
      "buffer_donor={ (2, {}) }\n"
      "ENTRY e {\n a = f32[2] parameter(0)\n b = (s32[], f32[3]) parameter(1)\n"
      " c = f32[2] parameter(2)\n d = f32[3] get-tuple-element(b), index=1\n"
      " ROOT t = (f32[3], f32[2]) tuple(d, c)\n}\n",
      "t");
  const auto& info = module.main().argument_info;
  ASSERT_EQ(info.size(), 4u);  // the tuple is two
  EXPECT_EQ(info[0].aliased_result, 1);
  EXPECT_EQ(info[1].aliased_result, -1);
  EXPECT_EQ(info[2].aliased_result, 0);
  EXPECT_FALSE(info[0].donated);
  EXPECT_TRUE(info[3].donated);
}

TEST(HloText, OpsWithoutMetadataAreLocatedInTheText) {
  const Module module = import_hlo_entry(
      "  x = f32[4] parameter(0)\n"
      "  y = f32[4] abs(x)\n"
      "  ROOT z = f32[4] negate(y), metadata={op_name=\"jit(f)/neg\" source_file=\"f.py\" "
      "source_line=7}\n");
  const Function& main = module.main();
  const Op& negate = *main.def(main.results()[0]);
  EXPECT_EQ(negate.location->to_string(), "jit(f)/neg (f.py:7)");
  EXPECT_EQ(main.def(negate.operands[0])->location->to_string(), "y (test.hlo:5)");
}

TEST(HloText, StackFramesGiveLocations) {
  const Module module = import_hlo_text(
      "HloModule m\n\nFileNames\n1 \"a.py\"\n2 \"b \\\"quoted\\\".py\"\n\nFunctionNames\n1 "
      "\"f\"\n\n"
      "FileLocations\n1 {file_name_id=2 function_name_id=1 line=11 end_line=11 column=4 "
      "end_column=9}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n\n"
      "ENTRY e { x = f32[4] parameter(0) ROOT y = f32[4] abs(x), metadata={op_name=\"abs\" "
      "stack_frame_id=1} }\n",
      "t");
  const Function& main = module.main();
  EXPECT_EQ(main.def(main.results()[0])->location->to_string(), "abs (b \"quoted\".py:11)");
}

TEST(HloText, ArgumentsAreNamedByTheirMetadata) {
  const Module module = import_hlo_entry(
      "  a = f32[4] parameter(0), metadata={op_name=\"state[\\'params\\'][\\'w\\']\"}\n"
      "  ROOT named.1 = f32[4] parameter(1)\n");
  EXPECT_EQ(module.main().argument_info[0].name, "state['params']['w']");
  EXPECT_EQ(module.main().argument_info[1].name, "named");
}

// ---- constants: bits worked out by hand from the formats

TEST(HloText, FloatConstants) {
  const Literal values = hlo_constant("f32[6]", "{1, -0, inf, -inf, 1e-45, 3.40282347e+38}");
  EXPECT_EQ(bits(elements<float>(values)[0]), 0x3f800000u);
  EXPECT_EQ(bits(elements<float>(values)[1]), 0x80000000u);
  EXPECT_EQ(bits(elements<float>(values)[2]), 0x7f800000u);
  EXPECT_EQ(bits(elements<float>(values)[3]), 0xff800000u);
  EXPECT_EQ(bits(elements<float>(values)[4]), 0x00000001u);
  EXPECT_EQ(bits(elements<float>(values)[5]), 0x7f7fffffu);
  const Literal nans = hlo_constant("f32[3]", "{nan, -nan, nan(0x200001)}");
  EXPECT_EQ(bits(elements<float>(nans)[0]), 0x7fc00000u);
  EXPECT_EQ(bits(elements<float>(nans)[1]), 0xffc00000u);
  EXPECT_EQ(bits(elements<float>(nans)[2]), 0x7fa00001u);
  // 0.1 is 0x3fb999999999999a; bf16 keeps 0x3dcd, f16 0x2e66.
  EXPECT_EQ(elements<uint64_t>(hlo_constant("f64[]", "0.1"))[0], 0x3fb999999999999au);
  EXPECT_EQ(elements<uint16_t>(hlo_constant("bf16[]", "0.1"))[0], 0x3dcd);
  EXPECT_EQ(elements<uint16_t>(hlo_constant("f16[]", "0.1"))[0], 0x2e66);
  EXPECT_EQ(elements<uint8_t>(hlo_constant("f8e4m3fn[2]", "{448, -0.5}"))[0], 0x7e);
  EXPECT_EQ(elements<uint8_t>(hlo_constant("f8e5m2[2]", "{57344, -0.5}"))[1], 0xb8);
}

TEST(HloText, IntegerAndBooleanConstants) {
  EXPECT_EQ(elements<int32_t>(hlo_constant("s32[2,2]{0,1}", "{ { 1, -2 }, { /*i1=1*/3, 4 } }")),
            (std::vector<int32_t>{1, -2, 3, 4}));
  EXPECT_EQ(elements<uint64_t>(hlo_constant("u64[1]", "{18446744073709551615}"))[0], UINT64_MAX);
  EXPECT_EQ(elements<int64_t>(hlo_constant("s64[]", "-9223372036854775808"))[0], INT64_MIN);
  EXPECT_EQ(elements<int8_t>(hlo_constant("s4[3]", "{-8, 7, -1}")),
            (std::vector<int8_t>{-8, 7, -1}));
  EXPECT_EQ(elements<uint8_t>(hlo_constant("u4[2]", "{0, 15}")), (std::vector<uint8_t>{0, 15}));
  EXPECT_EQ(elements<uint8_t>(hlo_constant("pred[4]", "{true, false, 1, 0}")),
            (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(elements<float>(hlo_constant("c64[2]", "{(1, -2), (inf, 0.5)}").reshaped({2})).size(),
            2u);
}

TEST(HloText, EmptyConstantsHaveTheListsOfTheirShape) {
  EXPECT_EQ(hlo_constant("f32[0]", "{}").type().num_elements(), 0);
  EXPECT_EQ(hlo_constant("f32[2,0]", "{ {}, {} }").type().shape, (Dims{2, 0}));
  EXPECT_EQ(hlo_constant("f32[0,3]", "{}").type().shape, (Dims{0, 3}));
}

// ---- what is implied

TEST(HloText, ComparisonsTakeTheirTypeFromTheirOperands) {
  const auto type_of = [](const std::string& element, const std::string& said) {
    const Module module = import_hlo_entry("  x = " + element +
                                           "[4] parameter(0)\n  ROOT c = pred[4] compare(x, x), "
                                           "direction=LT" +
                                           said + "\n");
    const Function& main = module.main();
    return main.def(main.results()[0])->as<CompareAttrs>().type;
  };
  EXPECT_EQ(type_of("f32", ""), CompareType::kFloat);
  EXPECT_EQ(type_of("bf16", ", type=TOTALORDER"), CompareType::kTotalOrder);
  EXPECT_EQ(type_of("s32", ""), CompareType::kSigned);
  EXPECT_EQ(type_of("u8", ""), CompareType::kUnsigned);
  EXPECT_EQ(type_of("pred", ""), CompareType::kUnsigned);
}

TEST(HloText, TopKTakesTheLargestUnlessItSaysOtherwise) {
  const Module module = import_hlo_entry(
      "  x = f32[4,8] parameter(0)\n  ROOT t = (f32[4,2], s32[4,2]) topk(x), k=2\n");
  EXPECT_EQ(module.main().results().size(), 2u);
  const std::string error = testing::hlo_text_error(
      hlo_entry("  x = f32[4,8] parameter(0)\n  ROOT t = (f32[4,2], s32[4,2]) topk(x), k=2, "
                "largest=false\n"));
  EXPECT_NE(error.find("selects the smallest elements"), error.npos) << error;
}

TEST(HloText, GroupsMayBeThoseOfANamedMesh) {
  const Module module = import_hlo_text(
      "HloModule m, num_partitions=4\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] "
      "parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\nENTRY main {\n  x = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] all-reduce(x), channel_id=1, use_global_device_ids=true, "
      "replica_groups=mesh['x'=2,'y'=2] {'x'}, to_apply=sum\n}\n",
      "test.hlo");
  const Function& main = module.main();
  // Devices 0 and 2, 1 and 3: the major half of the only axis of this module's own mesh.
  EXPECT_EQ(module.mesh.to_string(), "axis_0=4");
  EXPECT_EQ(main.def(main.results()[0])->as<AllReduceAttrs>().groups.axes, (AxisList{{0, 1, 2}}));
}

TEST(HloText, ShardingsOfUnitedAxesAreThoseOfNamedMeshes) {
  const auto sharding = [](const std::string& text) {
    const Module module =
        import_hlo_entry("  ROOT x = f32[8,16] parameter(0), sharding=" + text + "\n");
    const auto& found = module.main().value(module.main().arguments()[0]).sharding;
    return module.mesh.to_string() + " " + (found ? found->to_string(module.mesh) : "none");
  };
  EXPECT_EQ(sharding("{devices=[2,4]<=[8]}"), "axis_0=2,axis_1=4 [{\"axis_0\"}, {\"axis_1\"}]");
  EXPECT_EQ(sharding("{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
            "axis_0=2,axis_1=4 [{\"axis_1\"}, {}]");
  EXPECT_EQ(sharding("{devices=[2,2]0,1,2,3}"), "axis_0=2,axis_1=2 [{\"axis_0\"}, {\"axis_1\"}]");
  EXPECT_EQ(sharding("{mesh['a'=2,'b'=4], [{'b'}, {?}]}"), "a=2,b=4 [{\"b\"}, {?}]");
  EXPECT_EQ(sharding("{mesh['a'=2,'b'=4], [{'b':(2)2}, {}], unreduced=max{'a'}}"),
            "a=2,b=4 [{\"b\":(2)2}, {}], unreduced=max{\"a\"}");
  EXPECT_EQ(sharding("{mesh['a'=2], replicated}"), "a=2 [{}, {}]");
  EXPECT_EQ(sharding("{maximal_mesh[device_id=0]}"), " [{}, {}]");
  EXPECT_EQ(sharding("{unknown shard_as 1}"), " none");
}

}  // namespace
}  // namespace spmd
