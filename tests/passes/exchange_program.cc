#include "tests/passes/exchange_program.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/verifier.h"
#include "tests/differential/random.h"

namespace spmd::testing {
namespace {

constexpr int64_t kMaxElements = 3000;

size_t at(int64_t index) { return static_cast<size_t>(index); }

Mesh exchange_mesh(Random& random) {
  std::vector<MeshAxis> axes = {{"x", random.of(std::vector<int64_t>{2, 3, 4, 4, 5, 8})}};
  if (random.chance(40)) axes.push_back({"y", random.pick(1, 3)});
  std::vector<int64_t> order;
  if (random.chance(30)) {
    const int64_t devices = axes[0].size * (axes.size() > 1 ? axes[1].size : 1);
    for (int64_t device = 0; device < devices; ++device) order.push_back(device);
    random.shuffle(order);
  }
  return Mesh(std::move(axes), std::move(order));
}

class ExchangeDrawer {
 public:
  ExchangeDrawer(Module& module, Random& random)
      : mesh_(module.mesh), fn_(module.main()), random_(random), b_(fn_, fn_.body()) {}

  void draw() {
    dtype_ = random_.chance(60) ? DType::kF32 : DType::kS32;
    Dims shape;
    for (int64_t d = random_.pick(1, 4); d > 0; --d) shape.push_back(random_.pick(1, 4));
    shape[at(random_.below(static_cast<int64_t>(shape.size())))] = random_.pick(1, 24);
    ValueId x = argument({dtype_, shape});
    // What padding holds is then no zero.
    if (random_.chance(70)) x = b_.binary(OpCode::kAdd, x, b_.splat(type(x), 5));
    std::vector<ValueId> results;
    for (int64_t steps = random_.pick(1, 5); steps > 0; --steps) {
      const ValueId next = step(x);
      if (next == ValueId::kNone) continue;
      x = next;
      if (random_.chance(50)) annotate(x);
      if (random_.chance(10)) results.push_back(x);
    }
    results.push_back(x);
    for (ValueId result : results) {
      ResultInfo& info = fn_.result_info.emplace_back();
      if (random_.chance(60)) info.sharding = sharding(type(result).rank());
    }
    b_.return_op(results);
  }

 private:
  const TensorType& type(ValueId value) const { return fn_.type(value); }

  ValueId argument(TensorType type) {
    fn_.argument_info.emplace_back();
    const ValueId value = fn_.add_block_argument(fn_.body(), std::move(type));
    if (random_.chance(80)) annotate(value);
    return value;
  }

  ShardingRef sharding(int64_t rank) {
    Sharding sharding = Sharding::replicate(rank);
    for (DimSharding& dim : sharding.dims) dim.open = random_.chance(50);
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      if (rank == 0 || !random_.chance(75)) continue;
      sharding.dims[at(random_.below(rank))].axes.push_back({axis, 1, 0});
    }
    return std::make_shared<const Sharding>(std::move(sharding));
  }
  void annotate(ValueId value) { fn_.value(value).sharding = sharding(type(value).rank()); }

  // The longest dimension mostly.
  int64_t some_dim(ValueId x) {
    const Dims& shape = type(x).shape;
    if (random_.chance(30)) return random_.below(static_cast<int64_t>(shape.size()));
    return std::max_element(shape.begin(), shape.end()) - shape.begin();
  }

  ValueId step(ValueId x) {
    const int64_t d = some_dim(x);
    if (type(x).num_elements() == 0) return ValueId::kNone;
    switch (random_.below(13)) {
      case 0:
        return roll(x, d);
      case 1:
        return slice(x, d);
      case 2:
        return pad(x, d);
      case 3:
        return concatenate(x, d);
      case 4:
        return b_.value(OpCode::kReverse, {x}, ReverseAttrs{{d}});
      case 5:
        return reduce_window(x, d);
      case 6:
        return scan(x, d);
      case 7:
      case 8:
        return convolution(x);
      case 9:
        return select_and_scatter(x, d);
      case 10:
        return top_k(x);
      case 11:
        return dynamic_slice(x, d);
      default:
        return dynamic_update_slice(x, d);
    }
  }

  // Rows [first, last) of a dimension.
  ValueId rows(ValueId x, int64_t d, int64_t first, int64_t last, int64_t stride = 1) {
    Dims start(type(x).shape.size(), 0), limit = type(x).shape, strides(start.size(), 1);
    start[at(d)] = first;
    limit[at(d)] = last;
    strides[at(d)] = stride;
    return b_.slice(x, start, limit, strides);
  }

  ValueId roll(ValueId x, int64_t d) {
    const int64_t size = type(x).dim(d), by = random_.pick(0, size);
    return b_.value(OpCode::kConcatenate, {rows(x, d, by, size), rows(x, d, 0, by)},
                    ConcatenateAttrs{d});
  }

  ValueId slice(ValueId x, int64_t d) {
    const int64_t size = type(x).dim(d), first = random_.below((size + 1) / 2 + 1);
    const int64_t last = random_.pick(std::min(size, first + 1), size);
    return rows(x, d, first, last, random_.chance(50) ? 1 : random_.pick(2, 3));
  }

  ValueId pad(ValueId x, int64_t d) {
    Dims low(type(x).shape.size(), 0), high = low, interior = low;
    low[at(d)] = random_.pick(-2, 6);
    high[at(d)] = random_.pick(-2, 6);
    if (random_.chance(40)) interior[at(d)] = random_.pick(1, 2);
    const int64_t size = type(x).dim(d);
    const int64_t all = low[at(d)] + high[at(d)] + size + (size - 1) * interior[at(d)];
    if (all < 1 || type(x).num_elements() / size * all > kMaxElements) return ValueId::kNone;
    const ValueId filler =
        random_.chance(70) ? b_.scalar(dtype_, random_.chance(50) ? 0 : 3) : argument({dtype_, {}});
    return b_.pad(x, filler, low, high, interior);
  }

  ValueId concatenate(ValueId x, int64_t d) {
    std::vector<ValueId> parts = {x};
    int64_t all = type(x).dim(d);
    for (int64_t more = random_.pick(1, 2); more > 0; --more) {
      TensorType other = type(x);
      other.shape[at(d)] = random_.pick(1, 9);
      const int64_t size = type(x).dim(d), first = random_.below(size);
      parts.push_back(random_.chance(50)   ? argument(other)
                      : random_.chance(30) ? b_.splat(other, 2)
                                           : rows(x, d, first, random_.pick(first + 1, size)));
      all += type(parts.back()).dim(d);
    }
    if (type(x).num_elements() / type(x).dim(d) * all > kMaxElements) return ValueId::kNone;
    random_.shuffle(parts);
    return b_.value(OpCode::kConcatenate, parts, ConcatenateAttrs{d});
  }

  // ---- windows

  WindowAttrs unit_window(ValueId x) const {
    const Dims ones(type(x).shape.size(), 1), zeros(ones.size(), 0);
    return {ones, ones, ones, ones, zeros, zeros};
  }

  ValueId windowed(ValueId x, const WindowAttrs& window) {
    const OpCode code = random_.of(
        std::vector<OpCode>{OpCode::kAdd, OpCode::kAdd, OpCode::kMaximum, OpCode::kMinimum});
    const ValueId init =
        random_.chance(30) ? b_.scalar(dtype_, 1) : b_.constant(reducer_identity(code, dtype_));
    const OpId op = b_.create(OpCode::kReduceWindow, {x, init}, window);
    add_reducer_region(fn_, op, code, dtype_);
    return fn_.op(op).results[0];
  }

  // Places of windows of `reach` over `size` rows with holes.
  static int64_t places(int64_t size, int64_t base_dilation, int64_t low, int64_t high,
                        int64_t reach, int64_t stride) {
    const int64_t length = (size - 1) * base_dilation + 1 + low + high;
    return length < reach ? 0 : (length - reach) / stride + 1;
  }

  ValueId reduce_window(ValueId x, int64_t d) {
    WindowAttrs w = unit_window(x);
    const size_t i = at(d);
    w.size[i] = random_.pick(1, 5);
    w.stride[i] = random_.pick(1, 3);
    w.window_dilation[i] = random_.chance(25) ? 2 : 1;
    w.base_dilation[i] = random_.chance(25) ? random_.pick(2, 3) : 1;
    w.pad_low[i] = random_.pick(-1, 4);
    w.pad_high[i] = random_.pick(-1, 4);
    const int64_t reach = (w.size[i] - 1) * w.window_dilation[i] + 1;
    if (places(type(x).dim(d), w.base_dilation[i], w.pad_low[i], w.pad_high[i], reach,
               w.stride[i]) < 1) {
      return ValueId::kNone;
    }
    return windowed(x, w);
  }

  ValueId scan(ValueId x, int64_t d) {
    WindowAttrs w = unit_window(x);
    w.size[at(d)] = type(x).dim(d);
    (random_.chance(60) ? w.pad_low : w.pad_high)[at(d)] = w.size[at(d)] - 1;
    return windowed(x, w);
  }

  // Images [batch, rows..., features]; a kernel shorter than the rows, or about as long, as that of
  // a gradient is.
  ValueId convolution(ValueId x) {
    const int64_t rank = type(x).rank();
    if (rank < 3 || convolutions_++ > 1) return ValueId::kNone;
    ConvolutionAttrs a;
    a.input_batch = a.output_batch = 0;
    a.input_feature = a.output_feature = rank - 1;
    a.kernel_input_feature = rank - 2;
    a.kernel_output_feature = rank - 1;
    TensorType kernel{dtype_, {}};
    int64_t elements = type(x).dim(0);
    for (int64_t d = 1; d + 1 < rank; ++d) {
      const int64_t size = type(x).dim(d);
      const bool longer = random_.chance(35);
      const int64_t taps =
          longer ? random_.pick(std::max<int64_t>(1, size - 2), size) : random_.pick(1, 4);
      a.input_spatial.push_back(d);
      a.output_spatial.push_back(d);
      a.kernel_spatial.push_back(d - 1);
      a.stride.push_back(random_.chance(30) ? random_.pick(2, 3) : 1);
      a.pad_low.push_back(random_.pick(-1, 3));
      a.pad_high.push_back(random_.pick(-1, 3));
      a.lhs_dilation.push_back(random_.chance(25) ? random_.pick(2, 3) : 1);
      a.rhs_dilation.push_back(random_.chance(25) ? 2 : 1);
      a.reversal.push_back(random_.chance(20));
      const int64_t results =
          places(size, a.lhs_dilation.back(), a.pad_low.back(), a.pad_high.back(),
                 (taps - 1) * a.rhs_dilation.back() + 1, a.stride.back());
      if (results < 1) return ValueId::kNone;
      elements *= results;
      kernel.shape.push_back(taps);
    }
    kernel.shape.push_back(type(x).dim(rank - 1));
    kernel.shape.push_back(random_.pick(1, 3));
    if (elements * kernel.shape.back() > kMaxElements) return ValueId::kNone;
    return b_.value(OpCode::kConvolution, {x, argument(kernel)}, a);
  }

  ValueId select_and_scatter(ValueId x, int64_t d) {
    if (dtype_ != DType::kF32) return ValueId::kNone;
    WindowAttrs w = unit_window(x);
    const size_t i = at(d);
    w.size[i] = random_.pick(1, 4);
    w.stride[i] = random_.pick(1, 4);
    w.pad_low[i] = random_.below(w.size[i]);
    w.pad_high[i] = random_.below(w.size[i]);
    TensorType source = type(x);
    source.shape[i] =
        places(type(x).dim(d), 1, w.pad_low[i], w.pad_high[i], w.size[i], w.stride[i]);
    if (source.shape[i] < 1) return ValueId::kNone;
    const ValueId start = b_.scalar(dtype_, random_.below(2) == 0 ? 0 : 1);
    const OpId op = b_.create(OpCode::kSelectAndScatter, {x, argument(source), start}, w);
    const BlockId region = fn_.add_region(op);
    const ValueId lhs = fn_.add_block_argument(region, {dtype_, {}});
    const ValueId rhs = fn_.add_block_argument(region, {dtype_, {}});
    Builder inner(fn_, region);
    const auto direction = random_.chance(50) ? CompareDirection::kGe : CompareDirection::kLt;
    inner.return_op({inner.compare(direction, lhs, rhs)});
    add_reducer_region(fn_, op, OpCode::kAdd, dtype_);
    return fn_.op(op).results[0];
  }

  // ---- ordering and indexing

  ValueId top_k(ValueId x) {
    const int64_t k = random_.pick(1, type(x).shape.back());
    const OpId op = b_.create(OpCode::kTopK, {x}, TopKAttrs{k});
    const ValueId values = fn_.op(op).results[0], places = fn_.op(op).results[1];
    return dtype_ == DType::kS32 && random_.chance(50) ? places : values;
  }

  std::vector<ValueId> starts(ValueId x, int64_t d, std::vector<ValueId> operands) {
    for (int64_t i = 0; i < type(x).rank(); ++i) {
      const int64_t place = random_.pick(-2, type(x).dim(i) + 2);
      operands.push_back(i == d && random_.chance(50)
                             ? b_.binary(OpCode::kAdd, argument({DType::kS32, {}}),
                                         b_.scalar(DType::kS32, static_cast<double>(place)))
                             : b_.scalar(DType::kS32, static_cast<double>(place)));
    }
    return operands;
  }

  ValueId dynamic_slice(ValueId x, int64_t d) {
    Dims sizes = type(x).shape;
    sizes[at(d)] = random_.pick(1, sizes[at(d)]);
    return b_.value(OpCode::kDynamicSlice, starts(x, d, {x}), DynamicSliceAttrs{sizes});
  }

  ValueId dynamic_update_slice(ValueId x, int64_t d) {
    TensorType update = type(x);
    update.shape[at(d)] = random_.pick(1, update.shape[at(d)]);
    return b_.value(OpCode::kDynamicUpdateSlice, starts(x, d, {x, argument(update)}));
  }

  const Mesh& mesh_;
  Function& fn_;
  Random& random_;
  Builder b_;
  DType dtype_ = DType::kF32;
  int convolutions_ = 0;
};

}  // namespace

Module exchange_program(uint64_t seed) {
  Random random(seed);
  Module module;
  module.name = "seed_" + std::to_string(seed);
  module.mesh = exchange_mesh(random);
  module.add_function("main");
  ExchangeDrawer(module, random).draw();
  verify(module);
  return module;
}

}  // namespace spmd::testing
