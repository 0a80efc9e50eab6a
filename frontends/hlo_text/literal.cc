#include "frontends/hlo_text/literal.h"

#include <cstring>

#include "frontends/hlo_proto/types.h"
#include "frontends/hlo_text/lists.h"
#include "ir/text/elements.h"
#include "support/error.h"

namespace spmd::hlo_text {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Stored, typename Repeated>
void append(const Bytes& elements, Repeated& to) {
  const size_t count = elements.size() / sizeof(Stored);
  to.Reserve(static_cast<int>(count));
  for (size_t i = 0; i < count; ++i) {
    Stored element;
    std::memcpy(&element, elements.data() + i * sizeof(Stored), sizeof(Stored));
    to.Add(element);
  }
}

std::string as_string(const Bytes& elements) {
  return std::string(reinterpret_cast<const char*>(elements.data()), elements.size());
}

// Of signed integers of fewer bits than a byte.
std::string low_bits(const Bytes& elements, int width) {
  std::string bits = as_string(elements);
  for (char& byte : bits) byte = static_cast<char>(byte & ((1 << width) - 1));
  return bits;
}

// The inverse of what hlo_proto/literals.cc reads.
void store(const Bytes& elements, DType dtype, hlo::LiteralProto& literal) {
  switch (dtype) {
    case DType::kBool:
      return append<uint8_t>(elements, *literal.mutable_preds());
    case DType::kS32:
      return append<int32_t>(elements, *literal.mutable_s32s());
    case DType::kS64:
      return append<int64_t>(elements, *literal.mutable_s64s());
    case DType::kU32:
      return append<uint32_t>(elements, *literal.mutable_u32s());
    case DType::kU64:
      return append<uint64_t>(elements, *literal.mutable_u64s());
    case DType::kF32:
      return append<float>(elements, *literal.mutable_f32s());
    case DType::kF64:
      return append<double>(elements, *literal.mutable_f64s());
    case DType::kC64:
      return append<float>(elements, *literal.mutable_c64s());
    case DType::kC128:
      return append<double>(elements, *literal.mutable_c128s());
    case DType::kS8:
      return literal.set_s8s(as_string(elements));
    case DType::kU8:
      return literal.set_u8s(as_string(elements));
    case DType::kS16:
      return literal.set_s16s(as_string(elements));
    case DType::kU16:
      return literal.set_u16s(as_string(elements));
    case DType::kF16:
      return literal.set_f16s(as_string(elements));
    case DType::kBF16:
      return literal.set_bf16s(as_string(elements));
    case DType::kF8E4M3FN:
      return literal.set_f8e4m3fns(as_string(elements));
    case DType::kF8E5M2:
      return literal.set_f8e5m2s(as_string(elements));
    case DType::kS4:
      return literal.set_s4s(low_bits(elements, 4));
    case DType::kU4:
      return literal.set_u4s(as_string(elements));
    case DType::kS2:
      return literal.set_s2s(low_bits(elements, 2));
    case DType::kU2:
      return literal.set_u2s(as_string(elements));
    case DType::kF4E2M1FN:
      return literal.set_f4e2m1fns(as_string(elements));
    case DType::kF8E3M4:
      return literal.set_f8e3m4s(as_string(elements));
    case DType::kF8E4M3:
      return literal.set_f8e4m3s(as_string(elements));
    case DType::kF8E4M3B11FNUZ:
      return literal.set_f8e4m3b11fnuzs(as_string(elements));
    case DType::kF8E4M3FNUZ:
      return literal.set_f8e4m3fnuzs(as_string(elements));
    case DType::kF8E5M2FNUZ:
      return literal.set_f8e5m2fnuzs(as_string(elements));
    case DType::kF8E8M0FNU:
      return literal.set_f8e8m0fnus(as_string(elements));
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
    case DType::kToken:
      return;  // HLO has none
  }
}

class ElementsReader {
 public:
  ElementsReader(Scanner& scan, const TensorType& type) : scan_(scan), type_(type) {}

  // Nested lists from dimension `dim` on, or one element.
  void read(size_t dim) {
    if (dim == type_.shape.size()) return element();
    const DepthGuard guard(depth_, scan_);
    if (scan_.peek("{") && dim == 0) check_not_elided();
    int64_t count = 0;
    scan_list(scan_, "{", "}", [&] {
      if (count++ == type_.shape[dim]) fail_count(dim);
      read(dim + 1);
    });
    if (count != type_.shape[dim]) fail_count(dim);
  }

  const Bytes& elements() const { return elements_; }

 private:
  void element() {
    const bool is_nan = scan_.peek_word("nan") || scan_.peek("-nan");
    const size_t before = elements_.size();
    text::scan_element(scan_, type_.dtype, elements_);
    if (is_nan && scan_.text().substr(scan_.position(), 1) == "(") nan_payload(before);
  }

  // nan(0x7f): the bits of the mantissa.
  void nan_payload(size_t at) {
    scan_.expect("(");
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string digits(scan_.expect_number());
    char* end = nullptr;
    const uint64_t payload = std::strtoull(digits.c_str(), &end, 16);
    if (*end != '\0') scan_.fail(start, fmt::format("{} is no bit pattern", digits));
    scan_.expect(")");
    const auto mantissa = mantissa_mask();
    uint64_t bits = 0;
    const auto size = elements_.size() - at;
    std::memcpy(&bits, elements_.data() + at, size);
    bits = (bits & ~mantissa) | (payload & mantissa);
    std::memcpy(elements_.data() + at, &bits, size);
  }

  uint64_t mantissa_mask() const {
    switch (type_.dtype) {
      case DType::kF64:
        return (uint64_t{1} << 52) - 1;
      case DType::kF32:
        return (uint64_t{1} << 23) - 1;
      case DType::kF16:
        return (uint64_t{1} << 10) - 1;
      case DType::kBF16:
        return (uint64_t{1} << 7) - 1;
      default:
        return 0;  // of narrower types: the nan that they have
    }
  }

  void check_not_elided() {
    const size_t start = scan_.position();
    scan_.expect("{");
    if (!scan_.peek("...")) return scan_.seek(start);
    scan_.fail(start,
               fmt::format("the elements of this constant, {}, were left out of the text",
                           to_string(type_)),
               "write the text with its constants (XLA_FLAGS=--xla_dump_large_constants, "
               "as_hlo_text(print_large_constants=True)), or pass them as arguments");
  }

  [[noreturn]] void fail_count(size_t dim) {
    scan_.fail_expected(
        fmt::format("{} elements in dimension {} of {}", type_.shape[dim], dim, to_string(type_)));
  }

  Scanner& scan_;
  const TensorType& type_;
  Bytes elements_;
  int depth_ = 0;
};

}  // namespace

void scan_literal(Scanner& scan, const hlo::ShapeProto& shape, hlo::LiteralProto& literal) {
  *literal.mutable_shape() = shape;
  literal.mutable_shape()->clear_layout();
  if (shape.element_type() == hlo::TUPLE) {
    int next = 0;
    scan_list(scan, "(", ")", [&] {
      if (next == shape.tuple_shapes_size()) scan.fail_expected("')' after the tuple's elements");
      scan_literal(scan, shape.tuple_shapes(next++), *literal.add_tuple_literals());
    });
    if (next < shape.tuple_shapes_size()) scan.fail_expected("an element for each of the tuple's");
    return;
  }
  if (!hlo_proto::dtype_of(shape.element_type())) return skip_value(scan);
  const TensorType type = hlo_proto::type_of(shape, scan.place());
  ElementsReader reader(scan, type);
  reader.read(0);
  store(reader.elements(), type.dtype, literal);
}

}  // namespace spmd::hlo_text
