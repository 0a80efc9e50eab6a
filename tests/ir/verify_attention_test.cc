#include "tests/ir/verify_testing.h"

namespace spmd::testing {
namespace {

const VerifierRow kAttention[] = {
    {"%q: tensor<2x3x4x5x8xbf16>, %k: tensor<2x7x4x8xbf16>, %v: tensor<2x7x4x6xbf16>",
     "%0:2 = \"spmd.attention\"(%q, %k, %v) <{causal = true, scale = 0.125 : f64}> : "
     "(tensor<2x3x4x5x8xbf16>, tensor<2x7x4x8xbf16>, tensor<2x7x4x6xbf16>) -> "
     "(tensor<2x3x4x5x6xbf16>, tensor<2x4x5x3xf32>)",
     ""},
    {"%q: tensor<2x3x4x8xf32>, %k: tensor<2x7x4x8xf32>",
     "%0:2 = \"spmd.attention\"(%q, %k, %k) <{causal = true, scale = 0.125 : f64}> : "
     "(tensor<2x3x4x8xf32>, tensor<2x7x4x8xf32>, tensor<2x7x4x8xf32>) -> "
     "(tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)",
     "spmd.attention: the queries have type tensor<2x3x4x8xf32>, expected [batch, position, head, "
     "group, size]"},
    {"%q: tensor<2x3x4x1x8xf32>, %k: tensor<2x7x5x8xf32>",
     "%0:2 = \"spmd.attention\"(%q, %k, %k) <{causal = true, scale = 0.125 : f64}> : "
     "(tensor<2x3x4x1x8xf32>, tensor<2x7x5x8xf32>, tensor<2x7x5x8xf32>) -> "
     "(tensor<2x3x4x1x8xf32>, tensor<2x4x1x3xf32>)",
     "spmd.attention: the key has type tensor<2x7x5x8xf32>, expected the shape "
     "tensor<2x7x4x8xf32>"},
    {"%q: tensor<2x3x4x1x8xf32>, %k: tensor<2x7x4x8xbf16>",
     "%0:2 = \"spmd.attention\"(%q, %k, %k) <{causal = true, scale = 0.125 : f64}> : "
     "(tensor<2x3x4x1x8xf32>, tensor<2x7x4x8xbf16>, tensor<2x7x4x8xbf16>) -> "
     "(tensor<2x3x4x1x8xf32>, tensor<2x4x1x3xf32>)",
     "spmd.attention: the element types f32, bf16 and bf16 are not one type of floats"},
    {"%q: tensor<2x3x4x1x8xf32>, %k: tensor<2x0x4x8xf32>",
     "%0:2 = \"spmd.attention\"(%q, %k, %k) <{causal = true, scale = 0.125 : f64}> : "
     "(tensor<2x3x4x1x8xf32>, tensor<2x0x4x8xf32>, tensor<2x0x4x8xf32>) -> "
     "(tensor<2x3x4x1x8xf32>, tensor<2x4x1x3xf32>)",
     "spmd.attention: has no keys: tensor<2x0x4x8xf32>"},
    {"%q: tensor<2x3x4x1x8xbf16>, %k: tensor<2x7x4x8xbf16>, %s: tensor<2x4x1x3xbf16>",
     "%0:3 = \"spmd.attention_backward\"(%q, %k, %k, %q, %s, %q) <{causal = true, scale = 0.125 : "
     "f64}> : (tensor<2x3x4x1x8xbf16>, tensor<2x7x4x8xbf16>, tensor<2x7x4x8xbf16>, "
     "tensor<2x3x4x1x8xbf16>, tensor<2x4x1x3xbf16>, tensor<2x3x4x1x8xbf16>) -> "
     "(tensor<2x3x4x1x8xbf16>, tensor<2x7x4x8xbf16>, tensor<2x7x4x8xbf16>)",
     "spmd.attention_backward: the statistics have type tensor<2x4x1x3xbf16>, expected "
     "tensor<2x4x1x3xf32>"},
};

TEST(Verify, Attention) { check_rows(kAttention); }

}  // namespace
}  // namespace spmd::testing
