module @elementwise {
  func.func public @main(%x: tensor<2x3xf32> loc("x"), %y: tensor<2x3xf32> loc("y"), %i: tensor<4xi32>, %j: tensor<4xi32>, %p: tensor<2x3xi1>) -> (tensor<2x3xf32> {jax.result_info = "result.float"}, tensor<4xi32> {jax.result_info = "result.int"}, tensor<2x3xi1>, tensor<2x3xbf16>) {
    %0 = stablehlo.add %x, %y : tensor<2x3xf32> loc("jit(f)/add"("model.py":3:4))
    %1 = stablehlo.subtract %0, %y : tensor<2x3xf32> loc(callsite("inner"("a.py":1:2) at "outer"("b.py":7:1)))
    %2 = stablehlo.multiply %1, %x : tensor<2x3xf32> loc(fused["first", "c.py":9:1])
    %3 = stablehlo.divide %2, %y : tensor<2x3xf32>
    %4 = stablehlo.maximum %3, %x : tensor<2x3xf32>
    %5 = stablehlo.minimum %4, %y : tensor<2x3xf32>
    %6 = stablehlo.power %5, %y : tensor<2x3xf32>
    %7 = stablehlo.remainder %6, %x : tensor<2x3xf32>
    %8 = stablehlo.atan2 %7, %y : tensor<2x3xf32>
    %9 = stablehlo.abs %8 : tensor<2x3xf32>
    %10 = stablehlo.cbrt %9 : tensor<2x3xf32>
    %11 = stablehlo.ceil %10 : tensor<2x3xf32>
    %12 = stablehlo.floor %11 : tensor<2x3xf32>
    %13 = stablehlo.cosine %12 : tensor<2x3xf32>
    %14 = stablehlo.sine %13 : tensor<2x3xf32>
    %15 = stablehlo.tanh %14 : tensor<2x3xf32>
    %16 = stablehlo.exponential %15 : tensor<2x3xf32>
    %17 = stablehlo.exponential_minus_one %16 : tensor<2x3xf32>
    %18 = stablehlo.log %17 : tensor<2x3xf32>
    %19 = stablehlo.log_plus_one %18 : tensor<2x3xf32>
    %20 = stablehlo.logistic %19 : tensor<2x3xf32>
    %21 = stablehlo.negate %20 : tensor<2x3xf32>
    %22 = stablehlo.rsqrt %21 : tensor<2x3xf32>
    %23 = stablehlo.sqrt %22 : tensor<2x3xf32>
    %24 = stablehlo.sign %23 : tensor<2x3xf32>
    %25 = stablehlo.round_nearest_afz %24 : tensor<2x3xf32>
    %26 = stablehlo.round_nearest_even %25 : tensor<2x3xf32>
    %27 = stablehlo.reduce_precision %26, format = e8m7 : tensor<2x3xf32>
    %28 = stablehlo.is_finite %27 : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %29 = stablehlo.compare LT, %27, %y, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %30 = stablehlo.compare EQ, %27, %y, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %31 = stablehlo.compare NE, %28, %29, UNSIGNED : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
    %32 = stablehlo.compare GE, %27, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %33 = stablehlo.and %30, %31 : tensor<2x3xi1>
    %34 = stablehlo.or %33, %32 : tensor<2x3xi1>
    %35 = stablehlo.xor %34, %p : tensor<2x3xi1>
    %36 = stablehlo.not %35 : tensor<2x3xi1>
    %37 = stablehlo.select %36, %27, %x : tensor<2x3xi1>, tensor<2x3xf32>
    %38 = stablehlo.clamp %x, %37, %y : tensor<2x3xf32>
    %39 = stablehlo.convert %38 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %40 = stablehlo.shift_left %i, %j : tensor<4xi32>
    %41 = stablehlo.shift_right_arithmetic %40, %j : tensor<4xi32>
    %42 = stablehlo.shift_right_logical %41, %j : tensor<4xi32>
    %43 = stablehlo.popcnt %42 : tensor<4xi32>
    %44 = stablehlo.count_leading_zeros %43 : tensor<4xi32>
    %45 = stablehlo.compare GT, %44, %i, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %46 = stablehlo.compare LE, %44, %j, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %47 = stablehlo.and %45, %46 : tensor<4xi1>
    %48 = stablehlo.select %47, %44, %i : tensor<4xi1>, tensor<4xi32>
    return %38, %48, %36, %39 : tensor<2x3xf32>, tensor<4xi32>, tensor<2x3xi1>, tensor<2x3xbf16>
  }
}
