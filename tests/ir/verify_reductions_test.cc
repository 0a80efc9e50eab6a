// Ops with a reducer: reduce, reduce_window, select_and_scatter; and sort with its comparator.
#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

// A region that combines two scalars of a type by `add`.
std::string adding(const std::string& type) {
  return "({\n ^bb0(%p: " + type + ", %q: " + type + "):\n %s = stablehlo.add %p, %q : " + type +
         "\n stablehlo.return %s : " + type + "\n })";
}

std::string reduce(const std::string& region, const std::string& types) {
  return R"(%0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> )" + region + " : " +
         types;
}

struct ReducerRow {
  std::string arguments, ops, message;
};

void check(const std::vector<ReducerRow>& rows) {
  for (const ReducerRow& row : rows) {
    const VerifierRow same{row.arguments.c_str(), row.ops.c_str(), row.message.c_str()};
    check_rows(std::span(&same, 1));
  }
}

const std::string kTwo = "%a: tensor<2x3xf32>, %z: tensor<f32>";
const std::string kReduced = "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>";

TEST(VerifyReduction, Rows) {
  check({
      {kTwo, reduce(adding("tensor<f32>"), kReduced), ""},
      // A reducer may accumulate in a wider type; the result has it.
      {kTwo, reduce(adding("tensor<f64>"), "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf64>"), ""},
      {kTwo, reduce(adding("tensor<f64>"), kReduced),
       "stablehlo.reduce: the reducer is (tensor<f64>, tensor<f64>) -> (tensor<f64>), expected "
       "(tensor<f32>, tensor<f32>) -> (tensor<f32>)"},
      {kTwo, reduce(adding("tensor<bf16>"), "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xbf16>"),
       "stablehlo.reduce: result 0 is tensor<2xbf16>, expected elements of f32 or a wider type"},
      {kTwo, reduce(adding("tensor<i32>"), "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xi32>"),
       "stablehlo.reduce: result 0 is tensor<2xi32>, expected elements of f32 or a wider type"},
      {kTwo, reduce(adding("tensor<3xf32>"), kReduced),
       "stablehlo.reduce: the reducer is (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>), "
       "expected (tensor<f32>, tensor<f32>) -> (tensor<f32>)"},
      {kTwo,
       reduce("({\n ^bb0(%p: tensor<f32>):\n stablehlo.return %p : tensor<f32>\n })", kReduced),
       "stablehlo.reduce: the reducer is (tensor<f32>) -> (tensor<f32>), expected (tensor<f32>, "
       "tensor<f32>) -> (tensor<f32>)"},
      {kTwo,
       reduce("({\n ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n stablehlo.return %p, %q : "
              "tensor<f32>, tensor<f32>\n })",
              kReduced),
       "stablehlo.reduce: the reducer is (tensor<f32>, tensor<f32>) -> (tensor<f32>, "
       "tensor<f32>), expected (tensor<f32>, tensor<f32>) -> (tensor<f32>)"},
      {kTwo, R"(%0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 1>}> : )" + kReduced,
       "stablehlo.reduce: has 0 regions, expected 1"},
      {kTwo,
       R"(%0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 2>}> )" +
           adding("tensor<f32>") + " : " + kReduced,
       "stablehlo.reduce: reduced dimension 2 is out of range for rank 2"},
      {"%a: tensor<2x3xf32>, %z: tensor<f64>",
       reduce(adding("tensor<f32>"), "(tensor<2x3xf32>, tensor<f64>) -> tensor<2xf32>"),
       "stablehlo.reduce: an initial value is tensor<f64>, expected tensor<f32>"},
      {"%a: tensor<2x3xf32>, %z: tensor<1xf32>",
       reduce(adding("tensor<f32>"), "(tensor<2x3xf32>, tensor<1xf32>) -> tensor<2xf32>"),
       "stablehlo.reduce: an initial value of reduce is not a scalar"},
      {kTwo, reduce(adding("tensor<f32>"), "(tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>"),
       "stablehlo.reduce: result 0 has type tensor<3xf32>, expected tensor<2xf32>"},
      // A region must end, and a return must be its last op.
      {kTwo, reduce("({\n ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n })", kReduced),
       "stablehlo.reduce: a region does not end in a return"},
      {kTwo,
       reduce("({\n ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n stablehlo.return %q : tensor<f32>\n "
              "stablehlo.return %p : tensor<f32>\n })",
              kReduced),
       "stablehlo.return: is not the last op of its block"},
  });
}

std::string window(const std::string& attributes, const std::string& region,
                   const std::string& types) {
  return R"(%0 = "stablehlo.reduce_window"(%a, %z) <{)" + attributes + "}> " + region + " : " +
         types;
}

TEST(VerifyWindow, ReduceWindow) {
  const std::string sizes = "window_dimensions = array<i64: 1, 2>";
  const std::string types = "(tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>";
  const std::string add = adding("tensor<f32>");
  check({
      {kTwo, window(sizes, add, types), ""},
      {kTwo, window("window_dimensions = array<i64: 2>", add, types),
       "stablehlo.reduce_window: a window needs one entry per dimension"},
      {kTwo, window("window_dimensions = array<i64: 1, 0>", add, types),
       "stablehlo.reduce_window: window sizes, strides and dilations must be positive"},
      {kTwo, window(sizes + ", window_strides = array<i64: 1, 0>", add, types),
       "stablehlo.reduce_window: window sizes, strides and dilations must be positive"},
      {kTwo, window(sizes + ", base_dilations = array<i64: 1, 9223372036854775807>", add, types),
       "stablehlo.reduce_window: strides of 1 or dilations of 9223372036854775807 and 1 are too "
       "large"},
      {kTwo,
       window(sizes + ", padding = dense<-9223372036854775807> : tensor<2x2xi64>", add, types),
       "stablehlo.reduce_window: padding of -9223372036854775807 and -9223372036854775807 is too "
       "large"},
      {kTwo, window(sizes, add, "(tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>"),
       "stablehlo.reduce_window: result 0 has type tensor<2x3xf32>, expected tensor<2x2xf32>"},
      {"%a: tensor<2x3xf32>, %z: tensor<2xf32>",
       window(sizes, add, "(tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>"),
       "stablehlo.reduce_window: an initial value is tensor<2xf32>, expected tensor<f32>"},
      {kTwo, window(sizes, adding("tensor<i32>"), types),
       "stablehlo.reduce_window: the reducer is (tensor<i32>, tensor<i32>) -> (tensor<i32>), "
       "expected (tensor<f32>, tensor<f32>) -> (tensor<f32>)"},
  });
}

std::string selecting(const std::string& type, const std::string& result) {
  return "({\n ^bb0(%p: " + type + ", %q: " + type + "):\n %s = stablehlo.compare GE, %p, %q : (" +
         type + ", " + type + ") -> tensor<i1>\n stablehlo.return " + result + "\n }, ";
}

std::string select_and_scatter(const std::string& select, const std::string& scatter,
                               const std::string& types, const std::string& attributes = "") {
  return R"(%0 = "stablehlo.select_and_scatter"(%a, %src, %z) <{window_dimensions = array<i64: 2>)" +
         attributes + "}> " + select + scatter.substr(1) + " : " + types;
}

TEST(VerifyWindow, SelectAndScatter) {
  const std::string arguments = "%a: tensor<4xf32>, %src: tensor<3xf32>, %z: tensor<f32>";
  const std::string types = "(tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>";
  const std::string select = selecting("tensor<f32>", "%s : tensor<i1>");
  const std::string add = adding("tensor<f32>");
  check({
      {arguments, select_and_scatter(select, add, types), ""},
      {"%a: tensor<4xf32>, %src: tensor<4xf32>, %z: tensor<f32>",
       select_and_scatter(select, add,
                          "(tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>"),
       "stablehlo.select_and_scatter: the source is tensor<4xf32>, expected tensor<3xf32>"},
      {"%a: tensor<4xf32>, %src: tensor<3xf64>, %z: tensor<f32>",
       select_and_scatter(select, add,
                          "(tensor<4xf32>, tensor<3xf64>, tensor<f32>) -> tensor<4xf32>"),
       "stablehlo.select_and_scatter: the source is tensor<3xf64>, expected elements of f32"},
      {"%a: tensor<4xf32>, %src: tensor<3xf32>, %z: tensor<f64>",
       select_and_scatter(select, add,
                          "(tensor<4xf32>, tensor<3xf32>, tensor<f64>) -> tensor<4xf32>"),
       "stablehlo.select_and_scatter: the initial value is tensor<f64>, expected tensor<f32>"},
      {arguments, select_and_scatter(selecting("tensor<f32>", "%p : tensor<f32>"), add, types),
       "stablehlo.select_and_scatter: the selection is (tensor<f32>, tensor<f32>) -> "
       "(tensor<f32>), expected (tensor<f32>, tensor<f32>) -> (tensor<i1>)"},
      {arguments, select_and_scatter(select, adding("tensor<f64>"), types),
       "stablehlo.select_and_scatter: the reducer is (tensor<f64>, tensor<f64>) -> "
       "(tensor<f64>), expected (tensor<f32>, tensor<f32>) -> (tensor<f32>)"},
      {arguments, select_and_scatter(select, add, types, ", window_strides = array<i64: -1>"),
       "stablehlo.select_and_scatter: window sizes, strides and dilations must be positive"},
      {"%a: tensor<4xf32>, %src: tensor<2xf32>, %z: tensor<f32>",
       select_and_scatter(select, add,
                          "(tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>",
                          ", window_dilations = array<i64: 2>"),
       "stablehlo.select_and_scatter: its window has dilations, expected none"},
  });
}

std::string sort(const std::string& region, const std::string& dimension = "0") {
  return R"(%0:2 = "stablehlo.sort"(%a, %b) <{dimension = )" + dimension + " : i64}> " + region +
         " : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)";
}

TEST(VerifyOrdering, Sort) {
  const std::string arguments = "%a: tensor<4xf32>, %b: tensor<4xi32>, %t: tensor<i1>";
  const auto comparator = [](const std::string& types, const std::string& result) {
    return "({\n ^bb0(" + types + "):\n stablehlo.return " + result + "\n })";
  };
  const std::string pairs = "%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>";
  const std::string expected =
      "expected (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> (tensor<i1>)";
  check({
      {arguments, sort(comparator(pairs, "%t : tensor<i1>")), ""},
      {arguments, sort(comparator(pairs, "%t : tensor<i1>"), "-1"), ""},
      {arguments, sort(comparator(pairs, "%t : tensor<i1>"), "1"),
       "stablehlo.sort: sort dimension 1 is out of range for rank 1"},
      {arguments, sort(comparator(pairs, "%p : tensor<f32>")),
       "stablehlo.sort: the comparator is (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> "
       "(tensor<f32>), " +
           expected},
      {arguments,
       sort(comparator("%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %s: tensor<i32>",
                       "%t : tensor<i1>")),
       "stablehlo.sort: the comparator is (tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> "
       "(tensor<i1>), " +
           expected},
      {arguments, sort(comparator("%p: tensor<f32>, %q: tensor<f32>", "%t : tensor<i1>")),
       "stablehlo.sort: the comparator is (tensor<f32>, tensor<f32>) -> (tensor<i1>), " + expected},
  });
}

TEST(VerifyOrdering, TopK) {
  check({
      {"%a: tensor<4xf32>",
       "%0:2 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi64>)",
       "chlo.top_k: result 1 has type tensor<2xi64>, expected tensor<2xi32>"},
      {"%a: tensor<4xf32>",
       "%0:2 = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf64>, tensor<2xi32>)",
       "chlo.top_k: result 0 has type tensor<2xf64>, expected tensor<2xf32>"},
      {"%a: tensor<4xf32>",
       "%0:2 = chlo.top_k(%a, k = 5) : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi32>)",
       "chlo.top_k: k of top_k is larger than the dimension"},
      {"%a: tensor<f32>",
       "%0:2 = chlo.top_k(%a, k = 0) : tensor<f32> -> (tensor<f32>, tensor<i32>)",
       "chlo.top_k: top_k of a scalar"},
      {"%a: tensor<4xcomplex<f32>>",
       "%0:2 = chlo.top_k(%a, k = 2) : tensor<4xcomplex<f32>> -> (tensor<2xcomplex<f32>>, "
       "tensor<2xi32>)",
       "chlo.top_k: operand 0 is tensor<4xcomplex<f32>>, expected booleans, integers or floats"},
  });
}

}  // namespace
}  // namespace spmd::testing
