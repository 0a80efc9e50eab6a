// Collectives and placements, on the mesh ["x"=2, "y"=4].
#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

struct Row {
  std::string attributes, result, message;
};

std::string axes(const std::string& names) {
  std::string list;
  for (char name : names) {
    list += (list.empty() ? "" : ", ") + fmt::format("#stablehlo.axis_ref<name = \"{}\">", name);
  }
  return "replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [" + list + "]>";
}

const std::string kAddition =
    " ({\n    ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n      %s = stablehlo.add %p, %q : "
    "tensor<f32>\n      stablehlo.return %s : tensor<f32>\n    })";

void check_collective(const std::string& op, const std::string& region,
                      const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string text =
        main_text("(%a: tensor<4x6xf32>)",
                  "    %0 = \"stablehlo." + op + "\"(%a) <{" + row.attributes + "}>" + region +
                      " : (tensor<4x6xf32>) -> " + row.result + "\n    return");
    EXPECT_EQ(rejection(text), row.message.empty() ? "" : "stablehlo." + op + ": " + row.message)
        << text;
  }
}

TEST(VerifyCollective, AllGather) {
  const std::string dim = "all_gather_dim = 1 : i64, ";
  check_collective(
      "all_gather", "",
      {{dim + axes("x"), "tensor<4x12xf32>", ""},
       {dim + axes("y"), "tensor<4x12xf32>",
        "result 0 is tensor<4x12xf32>, expected tensor<4x24xf32>"},
       {dim + axes("x"), "tensor<4x12xf64>",
        "result 0 is tensor<4x12xf64>, expected tensor<4x12xf32>"},
       {"all_gather_dim = 2 : i64, " + axes("x"), "tensor<4x12xf32>",
        "dimension 2 is out of range for tensor<4x6xf32>"},
       {"all_gather_dim = -1 : i64, " + axes("x"), "tensor<4x12xf32>",
        "dimension -1 is out of range for tensor<4x6xf32>"},
       {dim + "replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>", "tensor<4x12xf32>", ""},
       {dim + "replica_groups = dense<[[0, 3], [3, 2]]> : tensor<2x2xi64>", "tensor<4x12xf32>",
        "device 3 is in two groups, expected one"},
       {dim + "replica_groups = dense<[[0, 3], [1, 8]]> : tensor<2x2xi64>", "tensor<4x12xf32>",
        "device 8 takes part, expected 0 to 7"},
       {dim + "replica_groups = dense<[[0, 3], [1, -1]]> : tensor<2x2xi64>", "tensor<4x12xf32>",
        "groups have 2 and 1 devices, expected equal sizes"}});
}

TEST(VerifyCollective, AxesMayNotRepeat) {
  EXPECT_EQ(rejection(main_text(
                "(%a: tensor<4x6xf32>)",
                "    %0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, " + axes("xx") +
                    "}> : (tensor<4x6xf32>) -> tensor<4x24xf32>\n    return")),
            "axis \"x\" is used twice");
  EXPECT_EQ(rejection(main_text("()",
                                "    %0 = spmd.axis_index {\"x\", \"x\"} : tensor<i32>\n"
                                "    return")),
            "axis \"x\" is used twice");
}

TEST(VerifyCollective, AllReduce) {
  check_collective(
      "all_reduce", kAddition,
      {{axes("x"), "tensor<4x6xf32>", ""},
       {"replica_groups = dense<[[0, 3, 2], [1, 4, -1]]> : tensor<2x3xi64>", "tensor<4x6xf32>", ""},
       {axes("x"), "tensor<4x3xf32>",
        "result 0 has type tensor<4x3xf32>, expected tensor<4x6xf32>"}});
  check_collective("all_reduce",
                   " ({\n    ^bb0(%p: tensor<i32>, %q: tensor<i32>):\n      stablehlo.return %q : "
                   "tensor<i32>\n    })",
                   {{axes("x"), "tensor<4x6xf32>",
                     "the reducer is (tensor<i32>, tensor<i32>) -> (tensor<i32>), expected "
                     "(tensor<f32>, tensor<f32>) -> (tensor<f32>)"}});
  check_collective("all_reduce", "", {{axes("x"), "tensor<4x6xf32>", "has 0 regions, expected 1"}});
}

TEST(VerifyCollective, ReduceScatter) {
  check_collective("reduce_scatter", kAddition,
                   {{"scatter_dimension = 0 : i64, " + axes("y"), "tensor<1x6xf32>", ""},
                    {"scatter_dimension = 1 : i64, " + axes("y"), "tensor<4x1xf32>",
                     "dimension 1 of tensor<4x6xf32> does not divide into the 4 of a group"},
                    {"scatter_dimension = 0 : i64, " + axes("y"), "tensor<2x6xf32>",
                     "result 0 is tensor<2x6xf32>, expected tensor<1x6xf32>"},
                    {"scatter_dimension = 7 : i64, " + axes("y"), "tensor<1x6xf32>",
                     "dimension 7 is out of range for tensor<4x6xf32>"}});
}

TEST(VerifyCollective, AllToAll) {
  const auto attributes = [](int split, int concat) {
    return fmt::format(
        "split_dimension = {} : i64, concat_dimension = {} : i64, split_count = 2 : i64, {}", split,
        concat, axes("x"));
  };
  check_collective(
      "all_to_all", "",
      {{attributes(0, 1), "tensor<2x12xf32>", ""},
       {attributes(0, 0), "tensor<4x6xf32>", ""},
       {attributes(0, 1), "tensor<4x6xf32>",
        "result 0 is tensor<4x6xf32>, expected tensor<2x12xf32>"},
       {attributes(2, 1), "tensor<2x12xf32>", "dimension 2 is out of range for tensor<4x6xf32>"},
       {attributes(0, 2), "tensor<2x12xf32>", "dimension 2 is out of range for tensor<2x6xf32>"}});
}

TEST(VerifyCollective, CollectivePermute) {
  const auto pairs = [](const std::string& list, int count) {
    return fmt::format("source_target_pairs = dense<{}> : tensor<{}x2xi64>", list, count);
  };
  check_collective(
      "collective_permute", "",
      {{pairs("[[0, 1], [1, 0]]", 2), "tensor<4x6xf32>", ""},
       {pairs("[[0, 1], [1, 0]]", 2), "tensor<4x5xf32>",
        "result 0 has type tensor<4x5xf32>, expected tensor<4x6xf32>"},
       {pairs("[[0, 1], [0, 2]]", 2), "tensor<4x6xf32>", "device 0 sends twice, expected once"},
       {pairs("[[0, 1], [2, 1]]", 2), "tensor<4x6xf32>", "device 1 receives twice, expected once"},
       {pairs("[[0, 8]]", 1), "tensor<4x6xf32>", "device 8 takes part, expected 0 to 7"}});
}

const VerifierRow kPlacements[] = {
    {"%a: tensor<4x6xf32>", "%0 = sdy.sharding_constraint %a <@mesh, [{\"x\"}]> : tensor<4x6xf32>",
     "the sharding [{\"x\"}] has 1 dimensions, the tensor 2"},
    {"%a: tensor<4x6xf32>", "%0 = spmd.reshard %a <@mesh, [{\"x\"}, {\"x\"}]> : tensor<4x6xf32>",
     "axis \"x\" is used twice in [{\"x\"}, {\"x\"}]"},
    {"%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}", "",
     "@main: the sharding [{\"x\"}] has 1 dimensions, the tensor 2"},
};

TEST(VerifyCollective, Placements) { check_rows(kPlacements); }

std::string manual(const std::string& inside, const std::string& axes = "\"x\"",
                   const std::string& shardings = "<@mesh, [{\"x\"}]>") {
  return main_text("(%a: tensor<16xf32>)",
                   "    %0 = sdy.manual_computation(%a) in_shardings=[" + shardings +
                       "] out_shardings=[<@mesh, [{\"x\"}]>] manual_axes={" + axes +
                       "} (%b: " + inside + ") {\n      sdy.return %b : " + inside +
                       "\n    } : (tensor<16xf32>) -> tensor<16xf32>\n    return");
}

TEST(VerifyCollective, ManualComputationsHoldTheShardsOfTheirOperands) {
  const std::string op = "sdy.manual_computation: ";
  EXPECT_EQ(rejection(manual("tensor<8xf32>")), "");
  // Axes that are not manual do not cut.
  EXPECT_EQ(rejection(manual("tensor<8xf32>", "\"x\"", "<@mesh, [{\"x\", \"y\"}]>")), "");
  EXPECT_EQ(rejection(manual("tensor<7xf32>")),
            op + "tensor<16xf32> is tensor<7xf32> inside, expected tensor<8xf32>");
  EXPECT_EQ(rejection(manual("tensor<8xf32>", "\"x\", \"x\"")), "axis \"x\" is used twice");
  EXPECT_EQ(rejection(manual("tensor<8xf32>", "\"x\"", "")),
            op + "has 0 shardings of operands, expected 1");
  EXPECT_EQ(rejection(manual("tensor<8xf32>", "\"x\"", "<@mesh, [{\"x\"}, {}]>")),
            "the sharding [{\"x\"}, {}] has 2 dimensions, the tensor 1");
}

}  // namespace
}  // namespace spmd::testing
