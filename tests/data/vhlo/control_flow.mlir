module @control_flow attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%n: tensor<i32>, %x: tensor<3xf32> {jax.buffer_donor = true} loc("state['x']"), %y: tensor<3xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<3xf32> {jax.result_info = "result[1]['y']"}, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf32>
      cond {
        %10 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %10 : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %11 = stablehlo.add %i, %one : tensor<i32>
        %12 = func.call @step(%v, %y) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        stablehlo.return %11, %12 : tensor<i32>, tensor<3xf32>
      }
    %1 = stablehlo.compare GT, %0#0, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %2 = "stablehlo.if"(%1) ({
      %10 = stablehlo.multiply %0#1, %y : tensor<3xf32>
      stablehlo.return %10 : tensor<3xf32>
    }, {
      stablehlo.return %y : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %3 = "stablehlo.case"(%n) ({
      stablehlo.return %2 : tensor<3xf32>
    }, {
      %10 = stablehlo.negate %2 : tensor<3xf32>
      stablehlo.return %10 : tensor<3xf32>
    }, {
      %10 = stablehlo.add %2, %2 : tensor<3xf32>
      stablehlo.return %10 : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %4:2 = stablehlo.optimization_barrier %3, %2 : tensor<3xf32>, tensor<3xf32>
    return %4#0, %4#1, %0#0 : tensor<3xf32>, tensor<3xf32>, tensor<i32>
  }
  func.func private @step(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.multiply %a, %b : tensor<3xf32>
    %1 = stablehlo.sine %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
