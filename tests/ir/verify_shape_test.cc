#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

const VerifierRow kBitcasts[] = {
    {"%a: tensor<4xf32>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xui32>",
     ""},
    {"%a: tensor<4xf32>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4x4xi8>",
     ""},
    {"%a: tensor<4x2xi4>", "%0 = stablehlo.bitcast_convert %a : (tensor<4x2xi4>) -> tensor<4xi8>",
     ""},
    {"%a: tensor<4xcomplex<f64>>",
     "%0 = stablehlo.bitcast_convert %a : (tensor<4xcomplex<f64>>) -> tensor<4x2xcomplex<f32>>",
     ""},
    {"%a: tensor<4xi1>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xi1>) -> tensor<4xui8>", ""},
    {"%a: tensor<4xf32>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<2x2xi32>",
     "stablehlo.bitcast_convert: tensor<4xf32> becomes tensor<2x2xi32>, expected tensor<4xi32> "
     "beside tensor<4xf32>"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi64>",
     "stablehlo.bitcast_convert: tensor<4xf32> becomes tensor<4xi64>, expected tensor<4x2xf32> "
     "beside tensor<4xi64>"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4x2xi8>",
     "stablehlo.bitcast_convert: tensor<4xf32> becomes tensor<4x2xi8>, expected tensor<4x4xi8> "
     "beside tensor<4xf32>"},
    {"%a: tensor<4x2xf32>",
     "%0 = stablehlo.bitcast_convert %a : (tensor<4x2xf32>) -> tensor<4xcomplex<f32>>",
     "stablehlo.bitcast_convert: tensor<4x2xf32> and tensor<4xcomplex<f32>> are not both complex "
     "numbers"},
    {"%a: tensor<4xi8>", "%0 = stablehlo.bitcast_convert %a : (tensor<4xi8>) -> tensor<4xi1>",
     "stablehlo.bitcast_convert: booleans are made of tensor<4xi8>"},
};

TEST(VerifyShape, Bitcasts) { check_rows(kBitcasts); }

const VerifierRow kShapeRows[] = {
    // broadcast_in_dim
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<4xf32>) -> tensor<2x4xf32>",
     "stablehlo.broadcast_in_dim: dimension 2 is out of range for tensor<2x4xf32>"},
    {"%a: tensor<4x4xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [1, 1] : (tensor<4x4xf32>) -> tensor<2x4xf32>",
     "stablehlo.broadcast_in_dim: dimension 1 occurs twice"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<2x4xf32>",
     "stablehlo.broadcast_in_dim: dimension 0 of tensor<4xf32> does not fit dimension 0 of "
     "tensor<2x4xf32>"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<4xf32>) -> tensor<2x4xf32>",
     "stablehlo.broadcast_in_dim: has 0 dims, expected one per dimension of tensor<4xf32>"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf64>",
     "stablehlo.broadcast_in_dim: element types of tensor<4xf32> and tensor<2x4xf64> differ"},
    // concatenate
    {"%a: tensor<4xf32>, %b: tensor<4xi32>",
     "%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<4xi32>) -> "
     "tensor<8xf32>",
     "stablehlo.concatenate: concatenate of different ranks or element types"},
    {"%a: tensor<4x2xf32>, %b: tensor<4x3xf32>",
     "%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x2xf32>, tensor<4x3xf32>) -> "
     "tensor<8x2xf32>",
     "stablehlo.concatenate: concatenate of tensor<4x2xf32> and tensor<4x3xf32> along dimension "
     "0"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.concatenate %a, dim = 1 : (tensor<4xf32>) -> tensor<4xf32>",
     "stablehlo.concatenate: dimension 1 is out of range for rank 1"},
    // iota
    {"", "%0 = stablehlo.iota dim = 0 : tensor<f32>",
     "stablehlo.iota: dimension 0 is out of range for tensor<f32>"},
    {"", "%0 = stablehlo.iota dim = 0 : tensor<4xi1>",
     "stablehlo.iota: counts in tensor<4xi1>, expected numbers"},
    // pad
    {"%a: tensor<4xf32>, %z: tensor<i32>",
     "%0 = stablehlo.pad %a, %z, low = [1], high = [0], interior = [0] : (tensor<4xf32>, "
     "tensor<i32>) -> tensor<5xf32>",
     "stablehlo.pad: the padding value is tensor<i32>, expected tensor<f32>"},
    {"%a: tensor<4xf32>, %z: tensor<1xf32>",
     "%0 = stablehlo.pad %a, %z, low = [1], high = [0], interior = [0] : (tensor<4xf32>, "
     "tensor<1xf32>) -> tensor<5xf32>",
     "stablehlo.pad: the padding value is tensor<1xf32>, expected tensor<f32>"},
    {"%a: tensor<4xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [-5], high = [0], interior = [0] : (tensor<4xf32>, "
     "tensor<f32>) -> tensor<0xf32>",
     "stablehlo.pad: pad to a negative size"},
    {"%a: tensor<4xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [0], high = [0], interior = [-1] : (tensor<4xf32>, "
     "tensor<f32>) -> tensor<1xf32>",
     "stablehlo.pad: interior padding of -1 is negative or too large"},
    {"%a: tensor<4xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [0], high = [0], interior = [9223372036854775807] : "
     "(tensor<4xf32>, tensor<f32>) -> tensor<1xf32>",
     "stablehlo.pad: interior padding of 9223372036854775807 is negative or too large"},
    {"%a: tensor<4xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [9223372036854775807], high = [9223372036854775807], "
     "interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>",
     "stablehlo.pad: padding of 9223372036854775807 and 9223372036854775807 is too large"},
    {"%a: tensor<4xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [1, 1], high = [0], interior = [0] : (tensor<4xf32>, "
     "tensor<f32>) -> tensor<5xf32>",
     "stablehlo.pad: pad needs one low, high and interior per dimension"},
    // reshape, reverse, slice, transpose
    {"%a: tensor<4xf32>", "%0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x3xf32>",
     "stablehlo.reshape: tensor<4xf32> has 4 elements, tensor<2x3xf32> has 6"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<4xi32>",
     "stablehlo.reshape: element types of tensor<4xf32> and tensor<4xi32> differ"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.reverse %a, dims = [1] : tensor<4xf32>",
     "stablehlo.reverse: reversed dimension 1 is out of range for rank 1"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.reverse %a, dims = [0, 0] : tensor<4xf32>",
     "stablehlo.reverse: reversed dimension 0 occurs twice"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.slice %a [0:5] : (tensor<4xf32>) -> tensor<5xf32>",
     "stablehlo.slice: slice [0:5:1] does not fit dimension 0 of tensor<4xf32>"},
    {"%a: tensor<4xf32>", "%0 = stablehlo.slice %a [0:4:0] : (tensor<4xf32>) -> tensor<4xf32>",
     "stablehlo.slice: slice [0:4:0] does not fit dimension 0 of tensor<4xf32>"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.slice %a [0:4:9223372036854775807] : (tensor<4xf32>) -> tensor<1xf32>",
     "stablehlo.slice: a stride of 9223372036854775807 is too large"},
    {"%a: tensor<4xf32>",
     "%0 = stablehlo.slice %a [1:4:2000000000] : (tensor<4xf32>) -> tensor<1xf32>", ""},
    {"%a: tensor<4x2xf32>",
     "%0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<4x2xf32>) -> tensor<4x4xf32>",
     "stablehlo.transpose: permutation entry 0 occurs twice"},
    {"%a: tensor<4x2xf32>",
     "%0 = stablehlo.transpose %a, dims = [1] : (tensor<4x2xf32>) -> tensor<2xf32>",
     "stablehlo.transpose: the permutation has not one entry per dimension"},
};

TEST(VerifyShape, Rows) { check_rows(kShapeRows); }

TEST(VerifyShape, SizesMustBeKnown) {
  EXPECT_EQ(rejection(main_text("(%a: tensor<?xf32>)", "    return")),
            "@main: tensor<?xf32> has a size that is not known");
  EXPECT_EQ(rejection(main_text("(%a: tensor<4xf32>)", R"(
    %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<?x4xf32>
    return)")),
            "tensor<?x4xf32> has a size that is not known");
}

}  // namespace
}  // namespace spmd::testing
