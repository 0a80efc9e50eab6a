// Attributes that give numbers for every dimension: windows, padding, slices, the layout of a
// convolution.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// {size=3x3 stride=2x2 pad=1_1x0_1 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=0x1}
void scan_window(Scanner& scan, hlo::Window& window);

// 0_1x2_2_1: low, high and perhaps interior of every dimension.
void scan_padding(Scanner& scan, hlo::PaddingConfig& padding);

// {[0:4], [1:8:2]}
void scan_slice(Scanner& scan, hlo::HloInstructionProto& instruction);

// b01f_01io->b01f, from input and kernel to output: b batch, f feature; i and o the kernel's
// features; digits number the spatial dimensions; ? is a dimension of no meaning.
void scan_dim_labels(Scanner& scan, hlo::ConvolutionDimensionNumbers& numbers);

}  // namespace spmd::hlo_text
