// Plans of small modules against the evaluator, op family by op family, with operands that are
// views of all sorts.
#include "ir/builder.h"
#include "ir/verifier.h"
#include "support/error.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

TEST(Meaning, ElementwiseOfAllTypes) {
  const Module module = module_of(
      "(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>, %i: tensor<3x4xi32>, %j: tensor<3x4xi32>, %p: "
      "tensor<3x4xi1>, %s: tensor<i1>, %lo: tensor<f32>) -> (tensor<3x4xf32>, tensor<3x4xi32>, "
      "tensor<3x4xi1>, tensor<3x4xui32>, tensor<3x4xbf16>)",
      R"(
    %hi = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.clamp %lo, %a, %hi : (tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
    %1 = stablehlo.select %s, %0, %b : tensor<i1>, tensor<3x4xf32>
    %2 = stablehlo.select %p, %1, %a : tensor<3x4xi1>, tensor<3x4xf32>
    %3 = stablehlo.shift_left %i, %j : tensor<3x4xi32>
    %4 = stablehlo.xor %3, %j : tensor<3x4xi32>
    %5 = stablehlo.compare GE, %i, %j, SIGNED : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
    %6 = stablehlo.and %5, %p : tensor<3x4xi1>
    %7 = stablehlo.bitcast_convert %2 : (tensor<3x4xf32>) -> tensor<3x4xui32>
    %8 = stablehlo.convert %a : (tensor<3x4xf32>) -> tensor<3x4xbf16>
    return %2, %4, %6, %7, %8 : tensor<3x4xf32>, tensor<3x4xi32>, tensor<3x4xi1>, tensor<3x4xui32>, tensor<3x4xbf16>)");
  expect_meaning(module);
}

TEST(Meaning, IotaThroughViews) {
  const Module module = module_of(
      "(%x: tensor<4x6xi32>) -> (tensor<4x6xi32>, tensor<24xi32>, tensor<3x4xf32>, "
      "tensor<6x4xi32>)",
      R"(
    %0 = stablehlo.iota dim = 1 : tensor<4x6xi32>
    %1 = stablehlo.reverse %0, dims = [1] : tensor<4x6xi32>
    %2 = stablehlo.add %1, %x : tensor<4x6xi32>
    %3 = stablehlo.reshape %0 : (tensor<4x6xi32>) -> tensor<24xi32>
    %4 = stablehlo.reshape %2 : (tensor<4x6xi32>) -> tensor<24xi32>
    %5 = stablehlo.add %3, %4 : tensor<24xi32>
    %6 = stablehlo.iota dim = 0 : tensor<24xf32>
    %7 = stablehlo.slice %6 [2:24:2] : (tensor<24xf32>) -> tensor<11xf32>
    %c = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %8 = stablehlo.pad %7, %c, low = [1], high = [0], interior = [0] : (tensor<11xf32>, tensor<f32>) -> tensor<12xf32>
    %9 = stablehlo.reshape %8 : (tensor<12xf32>) -> tensor<3x4xf32>
    %10 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x6xi32>) -> tensor<6x4xi32>
    return %2, %5, %9, %10 : tensor<4x6xi32>, tensor<24xi32>, tensor<3x4xf32>, tensor<6x4xi32>)");
  expect_meaning(module);
}

TEST(Meaning, PadOfAllSorts) {
  const Module module = module_of(
      "(%x: tensor<4x5xf32>, %c: tensor<f32>) -> (tensor<7x9xf32>, tensor<2x3xf32>, "
      "tensor<10x5xf32>, tensor<3x8xf32>, tensor<4x5xf32>, tensor<2x5xf32>)",
      R"(
    %0 = stablehlo.pad %x, %c, low = [1, 2], high = [2, 2], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<7x9xf32>
    %1 = stablehlo.pad %x, %c, low = [-1, -1], high = [-1, -1], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.pad %x, %c, low = [0, 0], high = [0, 0], interior = [2, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<10x5xf32>
    %3 = stablehlo.negate %x : tensor<4x5xf32>
    %4 = stablehlo.pad %3, %c, low = [-2, 1], high = [-2, -2], interior = [1, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x8xf32>
    %5 = stablehlo.pad %3, %c, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
    %6 = stablehlo.pad %3, %c, low = [6, 0], high = [-8, 0], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<2x5xf32>
    return %0, %1, %2, %4, %5, %6 : tensor<7x9xf32>, tensor<2x3xf32>, tensor<10x5xf32>, tensor<3x8xf32>, tensor<4x5xf32>, tensor<2x5xf32>)");
  expect_meaning(module);
}

TEST(Meaning, ConcatenateOfViewsConstantsAndItself) {
  const Module module = module_of(
      "(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> (tensor<2x13xf32>, tensor<4x3xf32>)", R"(
    %c = stablehlo.constant dense<2.500000e+00> : tensor<2x1xf32>
    %i = stablehlo.iota dim = 1 : tensor<2x3xf32>
    %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %n = stablehlo.negate %x : tensor<2x3xf32>
    %0 = stablehlo.concatenate %x, %c, %t, %i, %n, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x13xf32>
    %m = stablehlo.add %n, %t : tensor<2x3xf32>
    %1 = stablehlo.concatenate %m, %m, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    return %0, %1 : tensor<2x13xf32>, tensor<4x3xf32>)");
  expect_meaning(module);
}

TEST(Meaning, BitcastsOfDifferentSizes) {
  const Module module = module_of(
      "(%x: tensor<2x3xf32>, %b: tensor<4x2xui16>) -> (tensor<2x3x4xui8>, tensor<4xf32>, "
      "tensor<2xf32>)",
      R"(
    %0 = stablehlo.negate %x : tensor<2x3xf32>
    %1 = stablehlo.bitcast_convert %0 : (tensor<2x3xf32>) -> tensor<2x3x4xui8>
    %2 = stablehlo.bitcast_convert %b : (tensor<4x2xui16>) -> tensor<4xf32>
    %3 = stablehlo.slice %b [0:4, 0:1] : (tensor<4x2xui16>) -> tensor<4x1xui16>
    %4 = stablehlo.reshape %3 : (tensor<4x1xui16>) -> tensor<2x2xui16>
    %5 = stablehlo.bitcast_convert %4 : (tensor<2x2xui16>) -> tensor<2xf32>
    return %1, %2, %5 : tensor<2x3x4xui8>, tensor<4xf32>, tensor<2xf32>)");
  expect_meaning(module);
}

TEST(Meaning, DotOfViews) {
  const Module module = module_of(
      "(%x: tensor<2x6x4xf32>, %y: tensor<5x4x2xf32>, %h: tensor<3x8xbf16>, %v: tensor<3xf32>) -> "
      "(tensor<2x6x5xf32>, tensor<3x3xbf16>, tensor<3x3xf32>, tensor<f32>)",
      R"(
    %0 = stablehlo.reverse %x, dims = [1] : tensor<2x6x4xf32>
    %1 = stablehlo.dot_general %0, %y, batching_dims = [0] x [2], contracting_dims = [2] x [1] : (tensor<2x6x4xf32>, tensor<5x4x2xf32>) -> tensor<2x6x5xf32>
    %2 = stablehlo.dot_general %h, %h, contracting_dims = [1] x [1] : (tensor<3x8xbf16>, tensor<3x8xbf16>) -> tensor<3x3xbf16>
    %3 = stablehlo.dot_general %v, %v, contracting_dims = [] x [] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    %4 = stablehlo.dot_general %v, %v, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    return %1, %2, %3, %4 : tensor<2x6x5xf32>, tensor<3x3xbf16>, tensor<3x3xf32>, tensor<f32>)");
  expect_meaning(module, 1e-6);
}

TEST(Meaning, DotAlgorithmRoundsItsOperands) {
  const Module module =
      module_of("(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32>", R"(
    %c = stablehlo.constant dense<3.010000e-01> : tensor<4x8xf32>
    %0 = stablehlo.multiply %x, %c : tensor<4x8xf32>
    %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>)");
  expect_meaning(module, 1e-6);
  EXPECT_EQ(plan_of(module).programs(0).body().steps(1).dot().round_lhs(), plan::BF16);
}

TEST(Meaning, Reductions) {
  const Module module = module_of(
      "(%x: tensor<3x4x5xf32>, %p: tensor<3x4x5xi1>) -> (tensor<4xf32>, tensor<5x3xf32>, "
      "tensor<3x5xi32>, tensor<i1>)",
      R"(
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %i0 = stablehlo.constant dense<0> : tensor<i32>
    %false = stablehlo.constant dense<false> : tensor<i1>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
    %t = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<3x4x5xf32>) -> tensor<5x4x3xf32>
    %1 = stablehlo.reduce(%t init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<5x4x3xf32>, tensor<f32>) -> tensor<5x3xf32>
    %i = stablehlo.iota dim = 1 : tensor<3x4x5xi32>
    %2:2 = stablehlo.reduce(%x init: %low), (%i init: %i0) across dimensions = [1] : (tensor<3x4x5xf32>, tensor<3x4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x5xf32>, tensor<3x5xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
      %g = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %el = stablehlo.and %e, %l : tensor<i1>
      %k = stablehlo.or %g, %el : tensor<i1>
      %r = stablehlo.select %k, %a, %b : tensor<i1>, tensor<f32>
      %s = stablehlo.select %k, %c, %d : tensor<i1>, tensor<i32>
      stablehlo.return %r, %s : tensor<f32>, tensor<i32>
    }
    %3 = stablehlo.reduce(%p init: %false) applies stablehlo.or across dimensions = [0, 1, 2] : (tensor<3x4x5xi1>, tensor<i1>) -> tensor<i1>
    return %0, %1, %2#1, %3 : tensor<4xf32>, tensor<5x3xf32>, tensor<3x5xi32>, tensor<i1>)");
  expect_meaning(module);
}

TEST(Meaning, GatherScatterSlices) {
  const Module module = module_of(
      "(%x: tensor<6x4xf32>, %i: tensor<3x1xi32>, %s: tensor<i32>, %u: tensor<3x4xf32>) -> "
      "(tensor<3x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>, tensor<2x2xf32>)",
      R"(
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<6x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %v = stablehlo.slice %u [0:2, 1:3] : (tensor<3x4xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.dynamic_update_slice %t, %v, %s, %s : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %3 = stablehlo.dynamic_slice %t, %s, %s, sizes = [2, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<6x4xf32>, tensor<4x6xf32>, tensor<2x2xf32>)");
  expect_meaning(module);
}

TEST(Meaning, UpdatesInPlaceOnlyWhenTheOperandEnds) {
  const Module module = module_of(
      "(%x: tensor<8xf32>, %u: tensor<2xf32>, %s: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>, "
      "tensor<8xf32>)",
      R"(
    %0 = stablehlo.negate %x : tensor<8xf32>
    %1 = stablehlo.dynamic_update_slice %0, %u, %s : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
    %2 = stablehlo.dynamic_update_slice %1, %u, %s : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
    %3 = stablehlo.add %0, %2 : tensor<8xf32>
    return %0, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)");
  expect_meaning(module);
}

TEST(Meaning, WindowsAndConvolution) {
  const Module module = module_of(
      "(%x: tensor<2x8x8x3xf32>, %k: tensor<3x3x3x4xf32>) -> (tensor<2x4x4x4xf32>, "
      "tensor<2x4x4x3xf32>, tensor<2x8x8x3xf32>)",
      R"(
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x4x4x4xf32>
    %1 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<2x8x8x3xf32>, tensor<f32>) -> tensor<2x4x4x3xf32>
    %2 = "stablehlo.select_and_scatter"(%x, %1, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<2x8x8x3xf32>, tensor<2x4x4x3xf32>, tensor<f32>) -> tensor<2x8x8x3xf32>
    return %0, %1, %2 : tensor<2x4x4x4xf32>, tensor<2x4x4x3xf32>, tensor<2x8x8x3xf32>)");
  expect_meaning(module, 1e-6);
}

TEST(Meaning, ProductsOfReversedViews) {
  const Module module = module_of(
      "(%a: tensor<1x1x3x1xf32>, %k: tensor<3x1x1x1xf32>, %b: tensor<2x3x4xf32>, %c: "
      "tensor<2x4x5xf32>) -> (tensor<1x1x2x1xf32>, tensor<2x3x5xf32>)",
      R"(
    %0 = stablehlo.reverse %a, dims = [2] : tensor<1x1x3x1xf32>
    %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 3], pad = [[1, 3], [1, 1]], rhs_dilate = [2, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3x1xf32>, tensor<3x1x1x1xf32>) -> tensor<1x1x2x1xf32>
    %2 = stablehlo.reverse %b, dims = [0] : tensor<2x3x4xf32>
    %3 = stablehlo.reverse %c, dims = [0, 2] : tensor<2x4x5xf32>
    %4 = stablehlo.dot_general %2, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    return %1, %4 : tensor<1x1x2x1xf32>, tensor<2x3x5xf32>)");
  expect_meaning(module, 1e-6);
}

TEST(Meaning, SortAndTopK) {
  const Module module = module_of(
      "(%x: tensor<4x9xf32>) -> (tensor<9x4xf32>, tensor<9x4xi32>, tensor<4x3xf32>, "
      "tensor<4x3xi32>)",
      R"(
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x9xf32>) -> tensor<9x4xf32>
    %i = stablehlo.iota dim = 0 : tensor<9x4xi32>
    %0:2 = "stablehlo.sort"(%t, %i) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %l = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    }) : (tensor<9x4xf32>, tensor<9x4xi32>) -> (tensor<9x4xf32>, tensor<9x4xi32>)
    %1:2 = chlo.top_k(%x, k = 3) : tensor<4x9xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
    return %0#0, %0#1, %1#0, %1#1 : tensor<9x4xf32>, tensor<9x4xi32>, tensor<4x3xf32>, tensor<4x3xi32>)");
  expect_meaning(module);
}

TEST(Meaning, RandomBits) {
  const Module module = module_of("(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)", R"(
    %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
    return %0, %1 : tensor<2xui64>, tensor<3x5xui32>)");
  expect_meaning(module);
}

TEST(Meaning, EmptyTensors) {
  const Module module = module_of(
      "(%x: tensor<0x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, "
      "tensor<0xf32>)",
      R"(
    %zero = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = stablehlo.negate %x : tensor<0x4xf32>
    %1 = stablehlo.concatenate %0, %y, dim = 0 : (tensor<0x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = stablehlo.reshape %0 : (tensor<0x4xf32>) -> tensor<0xf32>
    %4 = stablehlo.add %3, %3 : tensor<0xf32>
    return %1, %2, %4 : tensor<2x4xf32>, tensor<4xf32>, tensor<0xf32>)");
  expect_meaning(module);
}

TEST(Meaning, ResultsThatAreConstantsArgumentsOrEachOther) {
  const Module module = module_of(
      "(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, "
      "tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>)",
      R"(
    %c = stablehlo.constant dense<1.500000e+00> : tensor<2x3xf32>
    %d = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %n = stablehlo.negate %x : tensor<2x3xf32>
    return %c, %x, %t, %n, %n, %d : tensor<2x3xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>)");
  expect_meaning(module);
}

TEST(Meaning, ReducersMustBeScalarArithmetic) {
  Module module;
  Function& fn = module.function(module.add_function("main"));
  const ValueId x = fn.add_block_argument(fn.body(), {DType::kF32, {4}});
  const ValueId y = fn.add_block_argument(fn.body(), {DType::kF32, {}});
  Builder b(fn, fn.body());
  const OpId reduce = b.create(OpCode::kReduce, {x, y}, ReduceAttrs{{0}});
  const BlockId region = fn.add_region(reduce);
  const ValueId p = fn.add_block_argument(region, {DType::kF32, {}});
  fn.add_block_argument(region, {DType::kF32, {}});
  Builder inner(fn, region);
  inner.return_op({inner.binary(OpCode::kAdd, p, y)});
  b.return_op({fn.op(reduce).results[0]});
  fn.argument_info.resize(2);
  fn.result_info.resize(1);
  try {
    plan_of(module);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("stablehlo.reduce reads a value from outside of it"),
              std::string::npos)
        << error.what();
  }
}

TEST(Meaning, CustomCallsAreNamed) {
  const Module module = module_of("(%x: tensor<2xf32>) -> tensor<2xf32>", R"(
    %0 = stablehlo.custom_call @mystery(%x) : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>)");
  try {
    plan_of(module);
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("custom call to \"mystery\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace spmd::testing
