// Every op of the table, in the forms in which StableHLO text has it.
#include <set>

#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

struct Sample {
  const char* signature;  // of @main
  const char* body;
};

// Pretty forms as jax and mlir-opt print them.
const Sample kPretty[] = {
    {"(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32>", R"(
    %0 = stablehlo.add %a, %b : tensor<2x3xf32>
    %1 = stablehlo.atan2 %0, %b : tensor<2x3xf32>
    %2 = stablehlo.divide %1, %b : tensor<2x3xf32>
    %3 = stablehlo.maximum %2, %b : tensor<2x3xf32>
    %4 = stablehlo.minimum %3, %b : tensor<2x3xf32>
    %5 = stablehlo.multiply %4, %b : tensor<2x3xf32>
    %6 = stablehlo.power %5, %b : tensor<2x3xf32>
    %7 = stablehlo.remainder %6, %b : tensor<2x3xf32>
    %8 = stablehlo.subtract %7, %b {mhlo.frontend_attributes = {k = "v"}} : tensor<2x3xf32>
    return %8 : tensor<2x3xf32>)"},
    {"(%a: tensor<4xf32>) -> tensor<4xf32>", R"(
    %0 = stablehlo.abs %a : tensor<4xf32>
    %1 = stablehlo.cbrt %0 : tensor<4xf32>
    %2 = stablehlo.ceil %1 : tensor<4xf32>
    %3 = stablehlo.cosine %2 : tensor<4xf32>
    %4 = chlo.erf %3 : tensor<4xf32> -> tensor<4xf32>
    %5 = stablehlo.exponential %4 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4xf32>
    %6 = stablehlo.exponential_minus_one %5 : tensor<4xf32>
    %7 = stablehlo.floor %6 : tensor<4xf32>
    %8 = stablehlo.log %7 : tensor<4xf32>
    %9 = stablehlo.log_plus_one %8 : tensor<4xf32>
    %10 = stablehlo.logistic %9 : tensor<4xf32>
    %11 = stablehlo.negate %10 : tensor<4xf32>
    %12 = stablehlo.round_nearest_afz %11 : tensor<4xf32>
    %13 = stablehlo.round_nearest_even %12 : tensor<4xf32>
    %14 = stablehlo.rsqrt %13 : tensor<4xf32>
    %15 = stablehlo.sign %14 : tensor<4xf32>
    %16 = stablehlo.sine %15 : tensor<4xf32>
    %17 = stablehlo.sqrt %16 : tensor<4xf32>
    %18 = chlo.square %17 : tensor<4xf32> -> tensor<4xf32>
    %19 = stablehlo.tan %18 : tensor<4xf32>
    %20 = stablehlo.tanh %19 : tensor<4xf32>
    %21 = stablehlo.reduce_precision %20, format = e8m7 : tensor<4xf32>
    %22 = stablehlo.reverse %21, dims = [0] : tensor<4xf32>
    %23, %24 = stablehlo.optimization_barrier %22, %a : tensor<4xf32>, tensor<4xf32>
    return %24 : tensor<4xf32>)"},
    {"(%a: tensor<4xi32>, %b: tensor<4xi32>, %p: tensor<4xi1>, %q: tensor<i1>) -> tensor<4xi32>",
     R"(
    %0 = stablehlo.and %a, %b : tensor<4xi32>
    %1 = stablehlo.or %0, %b : tensor<4xi32>
    %2 = stablehlo.xor %1, %b : tensor<4xi32>
    %3 = stablehlo.not %2 : tensor<4xi32>
    %4 = stablehlo.shift_left %3, %b : tensor<4xi32>
    %5 = stablehlo.shift_right_arithmetic %4, %b : tensor<4xi32>
    %6 = stablehlo.shift_right_logical %5, %b : tensor<4xi32>
    %7 = stablehlo.count_leading_zeros %6 : tensor<4xi32>
    %8 = stablehlo.popcnt %7 : tensor<4xi32>
    %9 = stablehlo.select %p, %8, %a : tensor<4xi1>, tensor<4xi32>
    %10 = stablehlo.select %q, %9, %a : tensor<i1>, tensor<4xi32>
    %11 = stablehlo.clamp %a, %10, %b : tensor<4xi32>
    %c = stablehlo.constant dense<7> : tensor<i32>
    %12 = stablehlo.clamp %c, %11, %c : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    %13 = stablehlo.compare  LT, %12, %a,  SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %14 = stablehlo.compare GE, %12, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %15 = stablehlo.convert %12 : (tensor<4xi32>) -> tensor<4xf32>
    %16 = stablehlo.compare EQ, %15, %15, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %17 = stablehlo.is_finite %15 : (tensor<4xf32>) -> tensor<4xi1>
    %18 = stablehlo.bitcast_convert %15 : (tensor<4xf32>) -> tensor<4xi32>
    return %18 : tensor<4xi32>)"},
    {"(%a: tensor<2x3xf32>, %z: tensor<f32>, %i: tensor<i32>) -> tensor<5x3xf32>", R"(
    %c = stablehlo.constant {attr = 1 : i32} dense<[[1.0, 2.5, -3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %d = stablehlo.constant() <{value = dense<1.5> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    %0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.concatenate %0, %a, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.pad %1, %z, low = [1, -1], high = [0, 1], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<5x3xf32>
    %3 = stablehlo.slice %2 [1:5:2, 0:3] : (tensor<5x3xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = stablehlo.reshape %4 : (tensor<3x2xf32>) -> tensor<6xf32>
    %6 = stablehlo.iota dim = 0 : tensor<5x3xui32>
    %7 = stablehlo.dynamic_slice %2, %i, %i, sizes = [1, 2] : (tensor<5x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %8 = stablehlo.dynamic_update_slice %2, %7, %i, %i : (tensor<5x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    return %8 : tensor<5x3xf32>)"},
    {"(%a: tensor<5x4x3xf32>, %b: tensor<5x3x2xf32>, %w: tensor<3xf32>) -> tensor<5x4x2xf32>", R"(
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<5x4x3xf32>, tensor<5x3x2xf32>) -> tensor<5x4x2xf32>
    %1 = stablehlo.dot_general %w, %w, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [] x [], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    return %0 : tensor<5x4x2xf32>)"},
    {"(%x: tensor<2x8x8x4xf32>, %w: tensor<3x3x2x6xf32>) -> tensor<2x4x4x6xf32>", R"(
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [1, 0]], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<2x4x4x6xf32>
    return %0 : tensor<2x4x4x6xf32>)"},
    {"(%a: tensor<2x3xf32>, %z: tensor<f32>, %i: tensor<2x3xi32>) -> tensor<2xf32>", R"(
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%a init: %z), (%i init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<i32>, %s: tensor<i32>)  {
      %2 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %p, %q : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %r, %s : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    return %1#0 : tensor<2xf32>)"},
    {"(%n: tensor<i32>, %a: tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)", R"(
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %n, %iterArg_0 = %a) : tensor<i32>, tensor<4xf32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{"x"}]>]>}
     cond {
      %1 = stablehlo.compare LT, %iterArg, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg, %c : tensor<i32>
      %2 = func.call @helper(%iterArg_0) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }
    %3 = call @helper(%0#1) : (tensor<4xf32>) -> tensor<4xf32>
    return %0#0, %3 : tensor<i32>, tensor<4xf32>
  }
  func.func private @helper(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>)"},
    {"(%a: tensor<4x8xf32>) -> tensor<4x2xf32>", R"(
    %values, %indices = chlo.top_k(%a, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    return %values : tensor<4x2xf32>)"},
    {"(%s: tensor<2xui64>) -> tensor<8xui32>", R"(
    %output_state, %output = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    return %output : tensor<8xui32>)"},
    {"(%a: tensor<8x4xf32>) -> tensor<8x4xf32>", R"(
    %0 = stablehlo.custom_call @"a \22target\22"(%a) {api_version = 4 : i32, backend_config = "x\0Ay", has_side_effect = true, mhlo.frontend_attributes = {key = "value"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @dict(%0) {mhlo.backend_config = {k = 3 : i64}} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"x", ?}p1, {"y":(2)2}]> : tensor<8x4xf32>
    %3 = spmd.reshard %2 <@mesh, [{}, {"x"}], unreduced={"y"}> : tensor<8x4xf32>
    %4 = sdy.reshard %3 <@mesh, [{"y", "x"}, {}]> : tensor<8x4xf32>
    %5 = spmd.axis_index {"x", "y":(1)2} : tensor<i32>
    %6 = stablehlo.partition_id : tensor<ui32>
    return %4 : tensor<8x4xf32>)"},
    {"(%a: tensor<8x4xf32>) -> tensor<8x4xf32>", R"(
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg1: tensor<4x4xf32>) {
      %1 = stablehlo.add %arg1, %arg1 : tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>)"},
};

// Elementwise ops of CHLO, complex numbers, linear algebra, and what sdy says beside shardings.
const Sample kMore[] = {
    {"(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32>", R"(
    %0 = chlo.acos %a : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.acosh %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.asin %1 : tensor<4xf32> -> tensor<4xf32>
    %3 = chlo.asinh %2 : tensor<4xf32> -> tensor<4xf32>
    %4 = chlo.atan %3 : tensor<4xf32> -> tensor<4xf32>
    %5 = chlo.atanh %4 : tensor<4xf32> -> tensor<4xf32>
    %6 = chlo.bessel_i1e %5 : tensor<4xf32> -> tensor<4xf32>
    %7 = chlo.cosh %6 : tensor<4xf32> -> tensor<4xf32>
    %8 = chlo.digamma %7 : tensor<4xf32> -> tensor<4xf32>
    %9 = chlo.erf_inv %8 : tensor<4xf32> -> tensor<4xf32>
    %10 = chlo.erfc %9 : tensor<4xf32> -> tensor<4xf32>
    %11 = chlo.lgamma %10 : tensor<4xf32> -> tensor<4xf32>
    %12 = chlo.polygamma %11, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %13 = chlo.sinh %12 : tensor<4xf32> -> tensor<4xf32>
    %14 = "chlo.zeta"(%13, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %15 = chlo.tan %14 : tensor<4xf32> -> tensor<4xf32>
    return %15 : tensor<4xf32>)"},
    {"(%a: tensor<2x4xf32>, %m: tensor<5x2x2xf64>, %n: tensor<5x3x2xf64>) -> tensor<2x4xf32>", R"(
    %0 = stablehlo.complex %a, %a : tensor<2x4xcomplex<f32>>
    %1 = "stablehlo.complex"(%a, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %2 = stablehlo.fft %1, type = FFT, length = [2, 4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %3 = "stablehlo.fft"(%a) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x4xf32>) -> tensor<2x3xcomplex<f32>>
    %4 = stablehlo.fft %3, type =  IRFFT, length = [4] : (tensor<2x3xcomplex<f32>>) -> tensor<2x4xf32>
    %5 = stablehlo.real %2 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %6 = stablehlo.imag %2 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    %7 = stablehlo.cholesky %m, lower = true : tensor<5x2x2xf64>
    %8 = "stablehlo.triangular_solve"(%7, %n) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<5x2x2xf64>, tensor<5x3x2xf64>) -> tensor<5x3x2xf64>
    %9 = sdy.propagation_barrier %6 allowed_direction=FORWARD : tensor<2x4xf32>
    sdy.sharding_group %9 group_id=21 : tensor<2x4xf32>
    "sdy.sharding_group"(%5) <{group_id = 21 : i64}> : (tensor<2x4xf32>) -> ()
    %10 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%9) {mhlo.frontend_attributes = {xla.sdy.allowed_direction = "2 : i64"}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %11 = stablehlo.abs %0 : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
    return %11 : tensor<2x4xf32>)"},
};

// Generic forms, with the properties in `<{}>` (as now) or after the regions (as before 2024).
const Sample kGeneric[] = {
    {"(%q: tensor<2x5x4x3x8xbf16>, %k: tensor<2x6x4x8xbf16>, %v: tensor<2x6x4x7xbf16>) -> "
     "tensor<2x5x4x3x8xbf16>",
     R"(
    %0:2 = "spmd.attention"(%q, %k, %v) <{causal = true, scale = 0.35355339059327373 : f64}> : (tensor<2x5x4x3x8xbf16>, tensor<2x6x4x8xbf16>, tensor<2x6x4x7xbf16>) -> (tensor<2x5x4x3x7xbf16>, tensor<2x4x3x5xf32>)
    %1:2 = "spmd.attention"(%q, %k, %v) {scale = 1} : (tensor<2x5x4x3x8xbf16>, tensor<2x6x4x8xbf16>, tensor<2x6x4x7xbf16>) -> (tensor<2x5x4x3x7xbf16>, tensor<2x4x3x5xf32>)
    %2:3 = "spmd.attention_backward"(%q, %k, %v, %0#0, %0#1, %1#0) <{causal = false, scale = 1.0e-5 : f64}> : (tensor<2x5x4x3x8xbf16>, tensor<2x6x4x8xbf16>, tensor<2x6x4x7xbf16>, tensor<2x5x4x3x7xbf16>, tensor<2x4x3x5xf32>, tensor<2x5x4x3x7xbf16>) -> (tensor<2x5x4x3x8xbf16>, tensor<2x6x4x8xbf16>, tensor<2x6x4x7xbf16>)
    return %2#0 : tensor<2x5x4x3x8xbf16>)"},
    {"(%a: tensor<4x8xf32>, %i: tensor<3x1xi32>, %u: tensor<3x8xf32>) -> tensor<3x8xf32>", R"(
    %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %1 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = dense<[1, 8]> : tensor<2xi64>} : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %2 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %3 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<3x8xf32>)"},
    {"(%a: tensor<4x4xf32>, %z: tensor<f32>) -> tensor<4x4xf32>", R"(
    %0 = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.maximum %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) {padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, window_dimensions = dense<[2, 2]> : tensor<2xi64>} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %1 = "stablehlo.reduce_window"(%a, %z) <{base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 2, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 3>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x2xf32>
    %2 = "stablehlo.select_and_scatter"(%a, %1, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }, {
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x4xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>)"},
    {"(%a: tensor<4xf32>, %b: tensor<4xi32>, %p: tensor<i1>, %i: tensor<i32>) -> tensor<4xf32>", R"(
    %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>, %e: tensor<i32>, %f: tensor<i32>):
      %9 = stablehlo.compare LT, %c, %d, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>, <@mesh, [{?}]>]>} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
    %1 = "stablehlo.if"(%p) ({
      stablehlo.return %0#0 : tensor<4xf32>
    }, {
      %9 = stablehlo.negate %a : tensor<4xf32>
      stablehlo.return %9 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %2 = "stablehlo.case"(%i) ({
      stablehlo.return %1 : tensor<4xf32>
    }, {
      stablehlo.return %a : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>)"},
    {"(%a: tensor<8x4xf32>) -> tensor<8x4xf32>", R"(
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>, use_global_device_ids}> : (tensor<8x4xf32>) -> tensor<8x8xf32>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 3, -1], [1, 2, 4], [5, 6, 7]]> : tensor<3x3xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "stablehlo.reduce_scatter"(%1) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %9 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x4xf32>
    %3 = "stablehlo.all_to_all"(%2) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 8 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<8x4xf32>) -> tensor<1x32xf32>
    %4 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> {spmd.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %5 = "stablehlo.collective_permute"(%4) <{source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %5 : tensor<8x4xf32>)"},
    {"(%a: tensor<2x3xf32>, %z: tensor<f32>, %i: tensor<i32>) -> tensor<2x3xf32>", R"(
    %0 = "stablehlo.add"(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "stablehlo.constant"() <{value = dense<2.0> : tensor<2x3xf32>}> : () -> tensor<2x3xf32>
    %2 = "stablehlo.compare"(%0, %1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = "stablehlo.broadcast_in_dim"(%z) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> tensor<2x3xf32>
    %4 = "stablehlo.broadcast_in_dim"(%z) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
    %5 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xi32>
    %6 = "stablehlo.concatenate"(%a, %a) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %7 = "stablehlo.pad"(%a, %z) <{edge_padding_high = array<i64: 0, 1>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x4xf32>
    %8 = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %9 = "stablehlo.slice"(%a) <{limit_indices = array<i64: 2, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<2x2xf32>
    %10 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %11 = "stablehlo.dot_general"(%a, %10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %12 = "stablehlo.dynamic_slice"(%a, %i, %i) <{slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %13 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %14 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %99 = "stablehlo.maximum"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%99) : (tensor<f32>) -> ()
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    %15 = "stablehlo.while"(%i) ({
    ^bb0(%p: tensor<i32>):
      %99 = "stablehlo.compare"(%p, %p) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%99) : (tensor<i1>) -> ()
    }, {
    ^bb0(%p: tensor<i32>):
      "stablehlo.return"(%p) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    %16 = "sdy.sharding_constraint"(%a) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %17 = "spmd.axis_index"() <{axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> : () -> tensor<i32>
    %18 = "stablehlo.custom_call"(%a) <{call_target_name = "t", backend_config = "b"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %19 = "func.call"(%a) <{callee = @f}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %20 = "sdy.manual_computation"(%a) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%p: tensor<1x3xf32>):
      "sdy.return"(%p) : (tensor<1x3xf32>) -> ()
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %21:2 = "chlo.top_k"(%a) <{k = 1 : i64}> : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %22 = "stablehlo.convert"(%a) : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    "func.return"(%0) : (tensor<2x3xf32>) -> ()
  }
  func.func private @f(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    return %arg0 : tensor<2x3xf32>)"},
    {"(%x: tensor<2x8x4xf32>, %w: tensor<3x4x6xf32>, %s: tensor<3xui64>) -> tensor<2x8x6xf32>", R"(
    %0 = "stablehlo.convolution"(%x, %w) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<1x2xi64>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false>, window_strides = array<i64: 1>}> : (tensor<2x8x4xf32>, tensor<3x4x6xf32>) -> tensor<2x8x6xf32>
    %1:2 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
    return %0 : tensor<2x8x6xf32>)"},
};

TEST(Text, PrettyFormsRoundTrip) {
  for (const Sample& sample : kPretty) {
    expect_round_trips(parse(main_text(sample.signature, sample.body)));
  }
}

TEST(Text, MoreFormsRoundTrip) {
  for (const Sample& sample : kMore) {
    expect_round_trips(parse(main_text(sample.signature, sample.body)));
  }
}

TEST(Text, GenericFormsRoundTrip) {
  for (const Sample& sample : kGeneric) {
    expect_round_trips(parse(main_text(sample.signature, sample.body)));
  }
}

TEST(Text, SamplesCoverTheOpTable) {
  std::set<OpCode> seen;
  for (const Sample& sample : kPretty) {
    const Module module = parse(main_text(sample.signature, sample.body));
    for (const auto& fn : module.functions()) {
      walk(*fn, [&](OpId id) { seen.insert(fn->op(id).code); });
    }
  }
  for (const Sample& sample : kMore) {
    const Module module = parse(main_text(sample.signature, sample.body));
    walk(module.main(), [&](OpId id) { seen.insert(module.main().op(id).code); });
  }
  for (const Sample& sample : kGeneric) {
    const Module module = parse(main_text(sample.signature, sample.body));
    walk(module.main(), [&](OpId id) { seen.insert(module.main().op(id).code); });
  }
  for (int i = 0; i < kNumOpCodes; ++i) {
    if (family_of(static_cast<OpCode>(i)) == OpFamily::kExpanded) continue;
    EXPECT_TRUE(seen.contains(static_cast<OpCode>(i))) << name_of(static_cast<OpCode>(i));
  }
}

TEST(Text, PrettyAndGenericMeanTheSame) {
  const Module pretty = parse(main_text("(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32>", R"(
    %0 = stablehlo.slice %a [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>)"));
  const Module generic = parse(main_text("(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32>", R"(
    %0 = "stablehlo.slice"(%a) {start_indices = dense<1> : tensor<1xi64>, limit_indices = dense<4> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<2xf32>
    %1 = "stablehlo.reduce"(%0, %z) ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %2 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {dimensions = dense<0> : tensor<1xi64>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>)"));
  EXPECT_EQ(first_difference(pretty, generic), std::nullopt);
}

}  // namespace
}  // namespace spmd::testing
