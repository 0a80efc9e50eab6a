// convolution: for each image and feature group, a matrix of input patches times the kernel.
#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/matmul.h"
#include "ir/eval/product_type.h"
#include "ir/eval/strided.h"

namespace spmd::eval {
namespace {

Dims with_spatial(int64_t first, const Dims& spatial, int64_t last) {
  Dims order{first};
  order.insert(order.end(), spatial.begin(), spatial.end());
  order.push_back(last);
  return order;
}

struct Geometry {
  const ConvolutionAttrs& attrs;
  Dims input, kernel, output;  // spatial sizes
  int64_t channels = 0;        // of the whole input
  int64_t group_channels = 0;  // of one feature group: what the kernel reads
};

// The input position under kernel position `tap` for output position `index`, as a flat spatial
// index, or -1 where padding or dilation leaves a hole.
int64_t input_position(const Geometry& g, const Dims& index, const Dims& tap) {
  int64_t flat = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    const int64_t step =
        g.attrs.reversal.empty() || !g.attrs.reversal[d] ? tap[d] : g.kernel[d] - 1 - tap[d];
    const int64_t dilated =
        index[d] * g.attrs.stride[d] + step * g.attrs.rhs_dilation[d] - g.attrs.pad_low[d];
    if (dilated < 0 || dilated % g.attrs.lhs_dilation[d] != 0) return -1;
    const int64_t position = dilated / g.attrs.lhs_dilation[d];
    if (position >= g.input[d]) return -1;
    flat = flat * g.input[d] + position;
  }
  return flat;
}

// One row per output position: the inputs under the kernel, [taps, group channels].
template <typename T>
void fill_patches(const Geometry& g, const T* image, int64_t first_channel, T* patches) {
  for_each_index(g.output, [&](const Dims& index) {
    for_each_index(g.kernel, [&](const Dims& tap) {
      const int64_t position = input_position(g, index, tap);
      if (position < 0) {
        std::fill_n(patches, g.group_channels, T());
      } else {
        std::copy_n(image + position * g.channels + first_channel, g.group_channels, patches);
      }
      patches += g.group_channels;
    });
  });
}

int64_t product(const Dims& dims) {
  int64_t result = 1;
  for (int64_t size : dims) result *= size;
  return result;
}

// `input` is [batch, spatial, feature], `kernel` [spatial, input feature, output feature], the
// result like the input.
template <typename T>
void convolve(const Geometry& g, const Literal& input, const Literal& kernel, Literal& result) {
  const int64_t images = result.type().shape.front(), features = result.type().shape.back();
  const int64_t batch_groups = g.attrs.batch_group_count;
  const int64_t groups = batch_groups * g.attrs.feature_group_count;
  const int64_t group_features = features / groups;
  const int64_t positions = product(g.output), depth = product(g.kernel) * g.group_channels;
  const int64_t image_size = product(g.input) * g.channels;
  std::vector<T> patches(static_cast<size_t>(positions * depth));
  T* to = result.mutable_as<T>();
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t group = 0; group < groups; ++group) {
      // Only one of the two group counts is more than one.
      const int64_t source = batch_groups > 1 ? group * images + image : image;
      const int64_t first_channel = batch_groups > 1 ? 0 : group * g.group_channels;
      fill_patches(g, input.as<T>() + source * image_size, first_channel, patches.data());
      matmul<T>(positions, group_features, depth, patches.data(),
                kernel.as<T>() + group * group_features, features,
                to + image * positions * features + group * group_features, features);
    }
  }
}

}  // namespace

Literal eval_convolution(const Invocation& in) {
  const auto& attrs = in.attrs<ConvolutionAttrs>();
  const TensorType& type = in.result_type();
  const DType sums =
      product_type(in.operands[0].type().dtype, in.operands[1].type().dtype, type.dtype);
  const Literal input =
      permuted(convert(in.operands[0], sums),
               with_spatial(attrs.input_batch, attrs.input_spatial, attrs.input_feature));
  Dims kernel_order = attrs.kernel_spatial;
  kernel_order.push_back(attrs.kernel_input_feature);
  kernel_order.push_back(attrs.kernel_output_feature);
  const Literal kernel = permuted(convert(in.operands[1], sums), kernel_order);

  Geometry g{
      attrs, {}, {}, {}, input.type().shape.back(), kernel.type().dim(kernel.type().rank() - 2)};
  const Dims output_order =
      with_spatial(attrs.output_batch, attrs.output_spatial, attrs.output_feature);
  Dims result_shape;
  for (int64_t d : output_order) result_shape.push_back(type.shape[at(d)]);
  for (size_t d = 0; d < attrs.input_spatial.size(); ++d) {
    g.input.push_back(input.type().shape[d + 1]);
    g.kernel.push_back(kernel.type().shape[d]);
    g.output.push_back(result_shape[d + 1]);
  }
  Literal result({sums, result_shape});
  with_product_type(
      sums, [&]<typename T>(std::type_identity<T>) { convolve<T>(g, input, kernel, result); });
  // Back to the order of the result's dimensions.
  Dims inverse(output_order.size());
  for (size_t i = 0; i < output_order.size(); ++i) {
    inverse[at(output_order[i])] = static_cast<int64_t>(i);
  }
  return convert(permuted(result, inverse), type.dtype);
}

}  // namespace spmd::eval
