// The proto of modules: versions, damage.
#include "ir/serialize.h"

#include "ir/module.pb.h"
#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

std::string sample() {
  return serialize(parse(main_text("(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32>", R"(
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %s = stablehlo.add %a, %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y":(1)2}]>]>} : tensor<4xf32>
    %0 = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>)")));
}

// The sample with its message changed.
std::string changed(const std::function<void(ir::Module&)>& change) {
  ir::Module message;
  EXPECT_TRUE(message.ParseFromString(sample()));
  change(message);
  return message.SerializeAsString();
}

std::string proto_error(const std::string& bytes) {
  return error_of([&] { deserialize(bytes, "m.pb"); });
}

TEST(Serialize, IsRecognised) {
  EXPECT_TRUE(is_serialized_module(sample()));
  EXPECT_FALSE(is_serialized_module("module @m {}"));
  EXPECT_FALSE(is_serialized_module(""));
  EXPECT_EQ(proto_error("nonsense"),
            "m.pb: not an spmd module\n  expected a file that spmd-opt has written");
}

TEST(Serialize, KeepsSplatsAndSharing) {
  const Module module = parse(
      "func.func @main() {\n"
      " %0 = stablehlo.constant dense<1.0> : tensor<1000x1000xf32>\n"
      " return\n}\n");
  const std::string bytes = serialize(module);
  EXPECT_LT(bytes.size(), 400u);
  const Module back = deserialize(bytes, "b");
  const Function& fn = back.main();
  EXPECT_TRUE(fn.op(fn.block(fn.body()).first).as<ConstantAttrs>().value.is_splat());
}

TEST(Serialize, OtherVersionsAreRefusedByNumber) {
  EXPECT_EQ(
      proto_error(changed([](ir::Module& m) {
        m.set_version(9);
        m.set_reader_version(7);
      })),
      "m.pb: a module of version 9 that needs a reader of version 7 or newer, this spmd reads "
      "versions 1 to 1\n  update spmd, or export the program again with this one");
  EXPECT_EQ(proto_error(changed([](ir::Module& m) { m.set_version(0); })),
            "m.pb: a module of version 0, this spmd reads versions 1 to 1\n  export the program "
            "again with this spmd");
  // A newer writer whose files old readers understand.
  deserialize(changed([](ir::Module& m) { m.set_version(2); }), "m.pb");
  // The header decides even when nothing after it can be decoded.
  EXPECT_EQ(
      proto_error(changed([](ir::Module& m) {
                    m.Clear();
                    m.set_magic(0x4d4d5053);
                    m.set_version(9);
                    m.set_reader_version(9);
                  }) +
                  "\xff\xff\xff"),
      "m.pb: a module of version 9 that needs a reader of version 9 or newer, this spmd reads "
      "versions 1 to 1\n  update spmd, or export the program again with this one");
}

TEST(Serialize, DamageIsFound) {
  using Change = std::function<void(ir::Module&)>;
  const auto first_op = [](ir::Module& m) -> ir::Op& {
    return *m.mutable_functions(0)->mutable_blocks(0)->mutable_ops(0);
  };
  const std::pair<Change, const char*> cases[] = {
      {[&](ir::Module& m) { first_op(m).set_opcode(99); }, "opcode 99 of 4"},
      {[&](ir::Module& m) { first_op(m).add_operands(50); }, "value 50 of 2"},
      {[&](ir::Module& m) { first_op(m).set_result_types(0, 77); }, "type 77 of 2"},
      {[&](ir::Module& m) { first_op(m).add_regions(0); }, "block 0 in @main"},
      {[&](ir::Module& m) { first_op(m).mutable_constant()->set_data("abc"); },
       "3 bytes for a constant of tensor<4xf32>"},
      {[&](ir::Module& m) { first_op(m).mutable_iota(); },
       "stablehlo.constant with the attributes of another op"},
      {[](ir::Module& m) { m.mutable_types(0)->add_shape(-5); }, "type tensor<4x-5xf32>"},
      {[](ir::Module& m) { m.mutable_types(0)->set_dtype("f99"); }, "element type \"f99\""},
      {[](ir::Module& m) { m.mutable_shardings(0)->mutable_dims(0)->mutable_axes(0)->set_axis(5); },
       "mesh axis 5 of 2"},
      {[](ir::Module& m) { m.mutable_mesh()->mutable_axes(0)->set_size(-1); }, "size -1"},
      {[](ir::Module& m) { m.set_opcodes(0, "stablehlo.unheard_of"); }, "stablehlo.unheard_of"},
      {[](ir::Module& m) { m.set_opcodes(1, "chlo.next_after"); },
       "chlo.next_after: only stands in programs that are read as StableHLO, HLO or ONNX"},
  };
  for (const auto& [change, expected] : cases) {
    const std::string message = proto_error(changed(change));
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  }
}

// The file that is damaged is the one that is read, whatever its bytes say of where it came from.
TEST(Serialize, FaultsAreThoseOfTheFile) {
  const auto without_results = [](ir::Module& m) { m.mutable_functions(0)->clear_results(); };
  const auto with_source = [&](const std::string& source) {
    return proto_error(changed([&](ir::Module& m) {
      m.set_source(source);
      without_results(m);
    }));
  };
  EXPECT_TRUE(with_source("first.mlir").starts_with("m.pb: @main: ")) << with_source("first.mlir");
  EXPECT_EQ(with_source(std::string(20, '\0')), with_source("first.mlir"));
}

TEST(Serialize, MessagesShowNul) {
  EXPECT_STREQ(UserError(std::string("a\0b", 3), std::string("\0", 1)).what(), "a\\x00b: \\x00");
}

TEST(Serialize, DamagedBytesAreSafe) {
  const std::string bytes = sample();
  const auto attempt = [](const std::string& tried) {
    try {
      deserialize(tried, "b");
    } catch (const UserError&) {
    }
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    attempt(bytes.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      attempt(flipped);
    }
  }
}

}  // namespace
}  // namespace spmd::testing
