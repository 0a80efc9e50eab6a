module @tensors {
  func.func public @main(%x: tensor<4x6xf32>, %s: tensor<i32>, %f: tensor<f32>, %g: tensor<3x1xi32>, %u: tensor<3x6xf32>, %im: tensor<2x8x8x4xf32>, %k: tensor<3x3x2x8xf32>, %e: tensor<2x4x6xf32>, %key: tensor<2xui64>) -> (tensor<3x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<2x4x4xf32>, tensor<2x4x4x8xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xi32>, tensor<2xui64>, tensor<3xui32>, tensor<12x2xf32>) {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<6x4xf32>
    %2 = stablehlo.slice %1 [1:5:2, 0:4] : (tensor<6x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.concatenate %2, %1, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %4 = stablehlo.pad %3, %f, low = [1, 0], high = [2, -1], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<18x3xf32>
    %5 = stablehlo.slice %4 [0:12, 0:2] : (tensor<18x3xf32>) -> tensor<12x2xf32>
    %6 = stablehlo.reshape %5 : (tensor<12x2xf32>) -> tensor<4x6xf32>
    %7 = stablehlo.dynamic_slice %6, %s, %s, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %8 = stablehlo.dynamic_update_slice %x, %7, %s, %s : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    %9 = "stablehlo.gather"(%8, %g) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
    %10 = "stablehlo.scatter"(%x, %g, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %40 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %40 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<4x6xf32>
    %11 = stablehlo.reduce(%10 init: %f) applies stablehlo.maximum across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    %12 = stablehlo.dot_general %e, %e, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [HIGHEST, DEFAULT] : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x4xf32>
    %13 = stablehlo.convolution(%im, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<3x3x2x8xf32>) -> tensor<2x4x4x8xf32>
    %14 = "stablehlo.reduce_window"(%x, %f) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %40 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %40 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
    %15 = "stablehlo.select_and_scatter"(%x, %14, %f) <{padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %40 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %40 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %40 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %40 : tensor<f32>
    }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    %16 = stablehlo.iota dim = 1 : tensor<4x6xi32>
    %17:2 = "stablehlo.sort"(%15, %16) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %40 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %40 : tensor<i1>
    }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
    %18, %19 = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %20 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
    %21 = stablehlo.add %20, %17#0 : tensor<4x6xf32>
    %22 = stablehlo.bitcast_convert %16 : (tensor<4x6xi32>) -> tensor<4x6xf32>
    %23 = stablehlo.add %22, %10 : tensor<4x6xf32>
    return %9, %23, %11, %12, %13, %14, %21, %8, %17#1, %18, %19, %5 : tensor<3x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<2x4x4xf32>, tensor<2x4x4x8xf32>, tensor<2x3xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xi32>, tensor<2xui64>, tensor<3xui32>, tensor<12x2xf32>
  }
}
