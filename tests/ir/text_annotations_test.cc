// Shardings, meshes, names and locations in text.
#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

const Op& first_op(const Module& module) {
  const Function& fn = module.main();
  return fn.op(fn.block(fn.body()).first);
}

std::string sharding_of(const Module& module, ValueId value) {
  const ShardingRef& sharding = module.main().value(value).sharding;
  return sharding ? sharding->to_string(module.mesh) : "none";
}

TEST(TextAnnotations, MeshIsDerivedFromHloShardings) {
  const Module module = parse(R"(
module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"},
                         %b: tensor<8x4xf32> {mhlo.sharding = "{replicated}"},
                         %c: tensor<8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"})
      -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}) {
    %0 = stablehlo.custom_call @Sharding(%a) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1:2 = stablehlo.optimization_barrier %0, %b {mhlo.sharding = "{{replicated}, {devices=[2,1,4]<=[8] last_tile_dim_replicate}}"} : tensor<8x4xf32>, tensor<8x4xf32>
    return %1#0 : tensor<8x4xf32>
  }
})");
  EXPECT_EQ(module.mesh.to_string(), "axis_0=2,axis_1=4");
  const Function& fn = module.main();
  EXPECT_EQ(sharding_of(module, fn.arguments()[0]), R"([{"axis_1"}, {"axis_0"}])");
  EXPECT_EQ(sharding_of(module, fn.arguments()[1]), "[{}, {}]");
  EXPECT_EQ(sharding_of(module, fn.arguments()[2]), R"([{"axis_1"}])");
  EXPECT_EQ(fn.result_info[0].sharding->to_string(module.mesh), R"([{"axis_1"}, {"axis_0"}])");
  const Op& constraint = first_op(module);
  EXPECT_EQ(constraint.code, OpCode::kShardingConstraint);
  EXPECT_EQ(constraint.as<ReshardAttrs>().sharding.to_string(module.mesh), R"([{"axis_0"}, {?}])");
  EXPECT_EQ(sharding_of(module, fn.op(constraint.next).results[1]), R"([{"axis_0"}, {}])");
  expect_round_trips(module);
}

TEST(TextAnnotations, ManualRegionsOfGspmd) {
  const Module module = parse(R"(
module @m attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<8x4xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = call @body(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4,1]<=[4]}"} : (tensor<2x4xf32>) -> tensor<8x4xf32>
    return %4 : tensor<8x4xf32>
  }
  func.func private @body(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
})");
  expect_round_trips(module);
  EXPECT_EQ(print_stablehlo(module),
            R"(module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["axis_0"=4]>
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}, {}]>}) -> (tensor<8x4xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"axis_0"}, {}]> : tensor<8x4xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"axis_0"}, {}]>] out_shardings=[<@mesh, [{"axis_0"}, {}]>] manual_axes={"axis_0"} (%arg1: tensor<2x4xf32>) {
      %2 = func.call @body(%arg1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      sdy.return %2 : tensor<2x4xf32>
    } {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0"}, {}]>]>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func private @body(%arg0: tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "axis_0">]>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
)");
}

TEST(TextAnnotations, OtherMeshes) {
  const Module module = parse(R"(
module @m {
  sdy.mesh @empty = <[]>
  sdy.mesh @maximal = <[], device_ids=[1]>
  sdy.mesh @first = <["x"=2, "y"=2]>
  sdy.mesh @flat = <["all"=4]> {stablehlo.mesh = {axes = [{name = "all", size = 4 : i64}]}}
  func.func public @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@flat, [{"all"}, {?}]>},
                         %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@empty, [{}, {}]>},
                         %c: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["p"=2, "q"=2]>, [{"q"}, {}]>}) {
    return
  }
})");
  EXPECT_EQ(module.mesh.to_string(), "x=2,y=2");
  EXPECT_EQ(module.mesh_name, "first");
  const Function& fn = module.main();
  EXPECT_EQ(sharding_of(module, fn.arguments()[0]), R"([{"x", "y"}, {?}])");
  EXPECT_EQ(sharding_of(module, fn.arguments()[1]), "[{}, {}]");
  EXPECT_EQ(sharding_of(module, fn.arguments()[2]), R"([{"y"}, {}])");
  expect_round_trips(module);
}

// Shardy's way of saying that a tensor is on one device: every device may have it.
TEST(TextAnnotations, MaximalShardings) {
  const Module module = parse(R"(
module @m {
  sdy.mesh @max = <[], device_ids=[3]>
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@max, []>},
                         %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    %0 = sdy.sharding_constraint %b <@max, []> : tensor<8x4xf32>
    %1 = stablehlo.add %a, %0 {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[0]>, []>]>} : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
})");
  EXPECT_EQ(module.mesh.to_string(), "x=4");
  const Function& fn = module.main();
  EXPECT_EQ(sharding_of(module, fn.arguments()[0]), "[{}, {}]");
  EXPECT_NE(print_stablehlo(module).find("sdy.sharding_constraint %arg1 <@mesh, [{}, {}]>"),
            std::string::npos);
  EXPECT_EQ(sharding_of(module, fn.results()[0]), "[{}, {}]");
  ASSERT_EQ(module.notes().size(), 1U);
  EXPECT_EQ(module.notes()[0].place, "test.mlir:5:62");
  EXPECT_EQ(
      module.notes()[0].text,
      "a maximal sharding, of a tensor on one device, is read as replicated: every device holds "
      "it");
  expect_round_trips(module);
}

// JAX writes where a call without results runs (jax.debug.print) as the sharding of a result.
TEST(TextAnnotations, CallsWithoutResultsMayHaveASharding) {
  const Module module = parse(R"(
module @m {
  sdy.mesh @max = <[], device_ids=[0]>
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    stablehlo.custom_call @callback(%a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@max, []>]>} : (tensor<8xf32>) -> ()
    return %a : tensor<8xf32>
  }
})");
  EXPECT_NE(print_stablehlo(module).find("custom_call @callback"), std::string::npos);
}

TEST(TextAnnotations, MaximalMeshesHaveOneDevice) {
  const auto with = [](const std::string& mesh) {
    return error_of([&] {
      parse("module {\n sdy.mesh @max = " + mesh +
            "\n func.func @main(%a: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@max, []>}) { "
            "return } }");
    });
  };
  EXPECT_EQ(with("<[], device_ids=[3]>"), "no error");
  EXPECT_NE(with("<[], device_ids=[1, 2]>")
                .find("test.mlir:2:18: mesh: 2 device ids for a mesh of 1 device"),
            std::string::npos);
  EXPECT_NE(
      with("<[], device_ids=[-1]>").find("test.mlir:2:18: mesh: device -1, expected 0 or more"),
      std::string::npos);
  // Without a device it is none.
  EXPECT_NE(with("<[]>").find("the sharding [] has 0 dimensions, the tensor 2"), std::string::npos);
}

// Where else an op may stand, and in its generic form among pretty ones.
TEST(TextAnnotations, MeshesAnywhere) {
  const std::string function =
      "func.func @main(%a: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>}) -> "
      "tensor<2xf32> { return %a : tensor<2xf32> } }";
  for (const std::string mesh :
       {"sdy.mesh @mesh = <[\"a\"=2]>\n", "\nsdy.mesh\n@mesh = <[\"a\"=2]>\n",
        "sdy.mesh @other = <[\"a\"=2]> sdy.mesh @mesh = <[\"a\"=2]>\n",
        "\n \"sdy.mesh\"() <{sym_name = \"mesh\", mesh = #sdy.mesh<[\"a\"=2]>}> : () -> ()\n"}) {
    const Module module = parse("module { " + mesh + function);
    EXPECT_EQ(sharding_of(module, module.main().arguments()[0]), R"([{"a"}])") << mesh;
  }
}

TEST(TextAnnotations, PartsOfAxes) {
  const auto with = [](const std::string& first, const std::string& second) {
    return "module {\n sdy.mesh @mesh = <[\"a\"=12]>\n func.func @main(%a: tensor<12xf32> "
           "{sdy.sharding = #sdy.sharding<@mesh, [{\"a\":" +
           first +
           "}]>},\n %b: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"a\":" + second +
           "}]>}) { return } }";
  };
  // One that says nothing of another's order.
  for (const std::string part :
       {"(1)2", "(1)4", "(2)2", "(2)6", "(4)3", "(2)3", "(1)3", "(3)2", "(3)4", "(1)6", "(6)2"}) {
    const Module module = parse(with(part, part));
    EXPECT_EQ(sharding_of(module, module.main().arguments()[0]), "[{\"a\":" + part + "}]");
    expect_round_trips(module);
  }
  EXPECT_EQ(parse(with("(1)3", "(3)2")).mesh.factors(0), (std::vector<int64_t>{3, 2, 2}));
  // No order of factors has both.
  const std::string message = error_of([&] { parse(with("(2)3", "(1)4")); });
  EXPECT_NE(
      message.find("\"a\":(1)4 cuts the axis of size 12 across the parts that other shardings "
                   "cut it into: 2 by 3 by 2, major to minor\n  cut \"a\" into the same parts "
                   "everywhere, or give the mesh an axis for each"),
      std::string::npos)
      << message;
}

TEST(TextAnnotations, ShardingsInFrontendAttributes) {
  const Module module = parse(R"(
module @m attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=2]>}"}} {
  func.func public @main(%a: tensor<8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22b\22}]>"}, mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}) -> tensor<8xf32> {
    %0 = stablehlo.abs %a {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22a\22, ?}]>]>"}} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
})");
  EXPECT_EQ(sharding_of(module, module.main().arguments()[0]), R"([{"b"}])");
  EXPECT_EQ(sharding_of(module, first_op(module).results[0]), R"([{"a", ?}])");
}

TEST(TextAnnotations, NamesOfArguments) {
  const Module module = parse(R"(
func.func public @main(%a: tensor<f32> {tf.aliasing_output = 0 : i32} loc("not me"), %b: tensor<f32> loc("batch['x']"(#loc1)), %c: tensor<f32> {jax.buffer_donor = true} loc("f.py":1:2), %d: tensor<f32> {tf.aliasing_output = 1 : i32, spmd.name = "mine"})
    -> (tensor<f32> {jax.result_info = "result[0].params"}, tensor<f32> {jax.result_info = "result[1]"}) {
  return %a, %d : tensor<f32>, tensor<f32>
}
#loc1 = loc("g.py":7:1)
)");
  const auto& info = module.main().argument_info;
  EXPECT_EQ(info[0].name, "result[0].params");
  EXPECT_EQ(info[1].name, "batch['x']");
  EXPECT_EQ(info[2].name, "");
  EXPECT_TRUE(info[2].donated);
  EXPECT_EQ(info[3].name, "mine");
  EXPECT_EQ(module.main().result_info[1].name, "result[1]");
  expect_round_trips(module);
}

TEST(TextAnnotations, Locations) {
  const Module module = parse(R"(#loc1 = loc("a.py":12:3)
module @m {
  func.func public @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.abs %a : tensor<f32> loc(#loc2)
    %1 = stablehlo.abs %0 : tensor<f32> loc("mul"(callsite("f"("b.py":5:1 to :9) at #loc1)))
    %2 = stablehlo.abs %1 : tensor<f32> loc(fused<"x">["only name", #loc1])
    %3 = stablehlo.abs %2 : tensor<f32> loc(unknown)
    return %3 : tensor<f32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc2 = loc("jit(f)/abs"(#loc1))
)");
  const Function& fn = module.main();
  std::vector<std::string> found;
  for_each_op(fn, fn.body(), [&](OpId id) { found.push_back(fn.op(id).location->to_string()); });
  EXPECT_EQ(found, (std::vector<std::string>{"jit(f)/abs (a.py:12)", "mul (b.py:5)",
                                             "only name (a.py:12)", "test.mlir:7", "test.mlir:8"}));
  expect_round_trips(module);
}

TEST(TextAnnotations, ModulesInGenericForm) {
  const Module pretty = parse(R"(module @m {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, tf.aliasing_output = 0 : i32} loc("a")) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
})");
  const Module generic = parse(R"("builtin.module"() <{sym_name = "m"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>, tf.aliasing_output = 0 : i32}], function_type = (tensor<4xf32>) -> tensor<4xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32> loc("a")):
    %0 = "func.call"(%arg0) <{callee = @f}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> () loc(#loc)
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    "func.return"(%arg0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 2 : i32} : () -> ()
#loc = loc(unknown)
)");
  EXPECT_EQ(first_difference(pretty, generic), std::nullopt);
}

TEST(TextAnnotations, ManualRegionsTakeInConstants) {
  const Module module = parse(R"(
func.func public @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %2 = stablehlo.multiply %1, %b : tensor<2xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
})");
  const Function& fn = module.main();
  int constants = 0;
  walk(fn, [&](OpId id) { constants += fn.op(id).code == OpCode::kConstant; });
  EXPECT_EQ(constants, 2);
  expect_round_trips(module);
  EXPECT_EQ(
      error_of([] {
        parse(R"(func.func public @main(%a: tensor<8xf32>, %b: tensor<2xf32>) -> tensor<8xf32> {
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %2 = stablehlo.multiply %1, %b : tensor<2xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
})");
      }),
      "test.mlir:3: uses a global value where shapes are local");
}

// A region that adds over "x", as sdy writes it into StableHLO, with the attributes of its borders
// and of its call.
std::string manual_call(const std::string& enter, const std::string& call, const std::string& leave,
                        const std::string& taken = "%1#1, %1#0") {
  const auto attributes = [](const std::string& entries) {
    return entries.empty() ? "" : " {mhlo.frontend_attributes = {" + entries + "}}";
  };
  return main_text("(%a: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32>",
                   R"(
    %0:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%a, %b))" +
                       attributes(enter) +
                       R"( : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
    %1:2 = call @xla.sdy.manual_computation_body(%0#1, %0#0))" +
                       attributes(call) +
                       R"( : (tensor<4xf32>, tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>)
    %2:2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape()" +
                       taken + ")" + attributes(leave) +
                       R"( : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    return %2#0 : tensor<8x4xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%p: tensor<4xf32>, %q: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>) {
    return %p, %q : tensor<4xf32>, tensor<4x4xf32>)");
}

const std::string kInShardings =
    R"(xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {}]>, <@mesh, [{}]>]>")";
const std::string kOutShardings =
    R"(xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}, {}]>, <@mesh, [{}]>]>")";
const std::string kManualAxes = R"(xla.sdy.manual_axes = "#sdy<manual_axes{\22x\22}>")";

TEST(TextAnnotations, ManualRegionsWrittenAsCallsBetweenBorders) {
  const Module module =
      parse(manual_call(kInShardings + ", " + kManualAxes, "", kOutShardings + ", " + kManualAxes));
  expect_round_trips(module);
  const std::string text = print_stablehlo(module);
  EXPECT_NE(text.find(R"(
    %0:2 = sdy.manual_computation(%arg1, %arg0) in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}]>] manual_axes={"x"} (%arg2: tensor<4xf32>, %arg3: tensor<4x4xf32>) {
      %1:2 = func.call @xla.sdy.manual_computation_body(%arg2, %arg3) : (tensor<4xf32>, tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>)
      sdy.return %1#1, %1#0 : tensor<4x4xf32>, tensor<4xf32>
    } : (tensor<4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    return %0#0 : tensor<8x4xf32>
)"),
            text.npos)
      << text;
  // Older files have all attributes on the call.
  const Module older =
      parse(manual_call("", kInShardings + ", " + kOutShardings + ", " + kManualAxes, ""));
  EXPECT_EQ(first_difference(module, older), std::nullopt);
}

TEST(TextAnnotations, IncompleteManualRegionsAreErrors) {
  const auto error = [](const std::string& text) {
    const std::string message = error_of([&] { parse(text); });
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(error(manual_call("", "", kOutShardings)),
            "test.mlir:5: xla.sdy.GlobalToLocalShape: lacks its attribute xla.sdy.in_shardings");
  EXPECT_EQ(error(manual_call(kInShardings, "", kOutShardings)),
            "test.mlir:7: xla.sdy.LocalToGlobalShape: does not say which mesh axes are manual");
  EXPECT_EQ(error(manual_call(kInShardings, kManualAxes, kOutShardings, "%0#0, %1#0")),
            "test.mlir:7: xla.sdy.LocalToGlobalShape: does not take its operands from the body of "
            "one region");
}

TEST(TextAnnotations, GlobalShapesOfLocalPrograms) {
  const Module module = parse(main_text(
      R"((%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>, spmd.global_shape = array<i64: 7, 4>}) -> (tensor<f32> {spmd.global_shape = array<i64>}))",
      "    %0 = stablehlo.constant dense<0.0> : tensor<f32>\n    return %0 : tensor<f32>"));
  EXPECT_EQ(module.main().argument_info[0].global_shape, (Dims{7, 4}));
  EXPECT_EQ(module.main().result_info[0].global_shape, Dims{});
  expect_round_trips(module);
}

TEST(TextAnnotations, OneOpForMessages) {
  const Module module = parse(main_text("(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32>", R"(
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>)"));
  const Function& fn = module.main();
  EXPECT_EQ(print_op(module, fn, fn.block(fn.body()).first),
            "%v5 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = "
            "[0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>");
}

}  // namespace
}  // namespace spmd::testing
