module @batched_indexing {
  func.func public @main(%x: tensor<2x4x6xf32>, %i: tensor<2x3x1xi32>, %u: tensor<2x3x6xf32>, %a: tensor<4x6xbf16>, %b: tensor<6x4xbf16>) -> (tensor<2x3x6xf32>, tensor<2x4x6xf32>, tensor<4x4xf32>, tensor<4x4xbf16>) {
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<2x4x6xf32>, tensor<2x3x1xi32>) -> tensor<2x3x6xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %20 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<2x4x6xf32>, tensor<2x3x1xi32>, tensor<2x3x6xf32>) -> tensor<2x4x6xf32>
    %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x6xbf16>, tensor<6x4xbf16>) -> tensor<4x4xf32>
    %3 = stablehlo.convert %2 : (tensor<4x4xf32>) -> tensor<4x4xbf16>
    %4 = stablehlo.tan %3 : tensor<4x4xbf16>
    return %0, %1, %2, %4 : tensor<2x3x6xf32>, tensor<2x4x6xf32>, tensor<4x4xf32>, tensor<4x4xbf16>
  }
}
