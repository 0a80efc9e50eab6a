// Shorter dimensions and plainer element types, the same everywhere in a module: what does not fit
// together any more does not verify.
#include <algorithm>
#include <set>

#include "passes/equivalence/padded.h"
#include "passes/shrink/edits.h"

namespace spmd::shrinking {
namespace {

void for_each_type(Module& module, const std::function<void(TensorType&)>& visit) {
  for (const auto& fn : module.functions()) {
    for (size_t i = 0; i < fn->num_value_ids(); ++i) visit(fn->value(static_cast<ValueId>(i)).type);
  }
}

void for_each_op_of(Module& module, const std::function<void(Op&)>& visit) {
  for (const auto& fn : module.functions()) {
    walk(*fn, [&](OpId id) { visit(fn->op(id)); });
  }
}

// One size for another; with `multiples`, also in its multiples.
struct Substitution {
  int64_t from, to;
  bool multiples;

  int64_t operator()(int64_t size) const {
    if (size == from) return to;
    return multiples && size > from && size % from == 0 ? size / from * to : size;
  }
  void apply(Dims& sizes) const {
    for (int64_t& size : sizes) size = (*this)(size);
  }
};

void shorten_slice(SliceAttrs& attrs, const Substitution& shorter) {
  for (size_t d = 0; d < attrs.limit.size(); ++d) {
    attrs.limit[d] = shorter(attrs.limit[d]);
    attrs.start[d] = std::min(attrs.start[d], attrs.limit[d]);
  }
}

// A window as long as its dimension, with padding that makes as many windows.
void shorten_window(WindowAttrs& attrs, const Substitution& shorter) {
  for (size_t d = 0; d < attrs.size.size(); ++d) {
    const int64_t before = attrs.size[d];
    attrs.size[d] = shorter(before);
    for (int64_t* padding : {&attrs.pad_low[d], &attrs.pad_high[d]}) {
      if (*padding == before - 1) *padding = attrs.size[d] - 1;
    }
  }
}

void shorten_attributes(Op& op, const Substitution& shorter) {
  if (auto* slice = std::get_if<SliceAttrs>(&op.attrs.get())) shorten_slice(*slice, shorter);
  if (auto* slice = std::get_if<DynamicSliceAttrs>(&op.attrs.get())) shorter.apply(slice->sizes);
  if (auto* gather = std::get_if<GatherAttrs>(&op.attrs.get())) shorter.apply(gather->slice_sizes);
  if (auto* window = std::get_if<WindowAttrs>(&op.attrs.get())) shorten_window(*window, shorter);
  if (auto* top_k = std::get_if<TopKAttrs>(&op.attrs.get())) top_k->k = shorter(top_k->k);
  if (auto* constant = std::get_if<ConstantAttrs>(&op.attrs.get())) {
    Dims shape = constant->value.type().shape;
    shorter.apply(shape);
    constant->value = constant->value.is_splat()
                          ? Literal::splat(constant->value.type().with_shape(shape),
                                           static_cast<const void*>(constant->value.data()))
                          : resized(constant->value, shape);
  }
}

bool shorten(Module& module, const Substitution& shorter) {
  for_each_type(module, [&](TensorType& type) { shorter.apply(type.shape); });
  for_each_op_of(module, [&](Op& op) { shorten_attributes(op, shorter); });
  return true;
}

Literal converted(const Literal& literal, DType dtype) {
  Literal result(literal.type().with_dtype(dtype));
  std::byte* out = result.mutable_data();
  const auto size = static_cast<size_t>(byte_size(dtype));
  for (int64_t e = 0; e < literal.type().num_elements(); ++e, out += size) {
    double value = literal.as_double(e);
    if (is_integer(dtype)) value = std::clamp(value, -2147483647.0, 2147483647.0);
    std::memcpy(out, Literal::splat({dtype, {}}, value).data(), size);
  }
  return result;
}

bool replace_elements(Module& module, DType from, DType to) {
  for_each_type(module, [&](TensorType& type) {
    if (type.dtype == from) type.dtype = to;
  });
  for_each_op_of(module, [&](Op& op) {
    auto* constant = std::get_if<ConstantAttrs>(&op.attrs.get());
    if (constant != nullptr && constant->value.type().dtype == from) {
      constant->value = converted(constant->value, to);
    }
  });
  return true;
}

}  // namespace

std::vector<Edit> size_edits(const Module& module) {
  Module copy = module.clone();
  std::set<int64_t, std::greater<>> sizes;
  for_each_type(copy,
                [&](TensorType& type) { sizes.insert(type.shape.begin(), type.shape.end()); });
  std::vector<Edit> edits;
  for (int64_t size : sizes) {
    std::set<int64_t> shorter = {1, 2, 3, 4, size / 8, size / 2};
    for (int64_t to : shorter) {
      if (to < 1 || to >= size) continue;
      for (bool multiples : {true, false}) {
        edits.push_back([=](Module& m) { return shorten(m, {size, to, multiples}); });
      }
    }
  }
  return edits;
}

std::vector<Edit> element_edits(const Module& module) {
  Module copy = module.clone();
  std::set<DType> dtypes;
  for_each_type(copy, [&](TensorType& type) { dtypes.insert(type.dtype); });
  std::vector<Edit> edits;
  for (DType from : dtypes) {
    const DType to = is_float(from) ? DType::kF32 : DType::kS32;
    if ((!is_float(from) && !is_integer(from)) || from == to) continue;
    edits.push_back([=](Module& m) { return replace_elements(m, from, to); });
  }
  return edits;
}

}  // namespace spmd::shrinking
