module @constants {
  func.func public @main() -> (tensor<i1>, tensor<11xi1>, tensor<9xi1>, tensor<3xi4>, tensor<3xui4>, tensor<2xi8>, tensor<2xui8>, tensor<2xi16>, tensor<2xui16>, tensor<2x2xi32>, tensor<2xui32>, tensor<2xi64>, tensor<2xui64>, tensor<3xf8E4M3FN>, tensor<3xf8E5M2>, tensor<2xf16>, tensor<2xbf16>, tensor<6xf32>, tensor<2xf64>, tensor<0x3xf32>, tensor<100xf32>) {
    %0 = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.constant dense<[true, false, true, true, false, false, false, true, true, false, true]> : tensor<11xi1>
    %2 = stablehlo.constant dense<true> : tensor<9xi1>
    %3 = stablehlo.constant dense<[1, -8, 7]> : tensor<3xi4>
    %4 = stablehlo.constant dense<[1, 15, 7]> : tensor<3xui4>
    %5 = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
    %6 = stablehlo.constant dense<[0, 255]> : tensor<2xui8>
    %7 = stablehlo.constant dense<[-32768, 1]> : tensor<2xi16>
    %8 = stablehlo.constant dense<[65535, 2]> : tensor<2xui16>
    %9 = stablehlo.constant dense<[[1, -2], [3, -4]]> : tensor<2x2xi32>
    %10 = stablehlo.constant dense<[4294967295, 0]> : tensor<2xui32>
    %11 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %12 = stablehlo.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
    %13 = stablehlo.constant dense<[1.0, -0.5, 448.0]> : tensor<3xf8E4M3FN>
    %14 = stablehlo.constant dense<[1.0, 0x7C, -2.0]> : tensor<3xf8E5M2>
    %15 = stablehlo.constant dense<[1.5, -65504.0]> : tensor<2xf16>
    %16 = stablehlo.constant dense<[1.5, 0xFF80]> : tensor<2xbf16>
    %17 = stablehlo.constant dense<[0.1, -0.0, 0x7F800000, 0x7FC00000, 1.0e-45, 3.40282347E+38]> : tensor<6xf32>
    %18 = stablehlo.constant dense<[0.1, 1.0e308]> : tensor<2xf64>
    %19 = stablehlo.constant dense<> : tensor<0x3xf32>
    %20 = stablehlo.constant dense<2.5> : tensor<100xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20 : tensor<i1>, tensor<11xi1>, tensor<9xi1>, tensor<3xi4>, tensor<3xui4>, tensor<2xi8>, tensor<2xui8>, tensor<2xi16>, tensor<2xui16>, tensor<2x2xi32>, tensor<2xui32>, tensor<2xi64>, tensor<2xui64>, tensor<3xf8E4M3FN>, tensor<3xf8E5M2>, tensor<2xf16>, tensor<2xbf16>, tensor<6xf32>, tensor<2xf64>, tensor<0x3xf32>, tensor<100xf32>
  }
}
