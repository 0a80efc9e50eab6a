// One op under verification: its parts, and how a broken constraint is told. The checks are local:
// they see the op, its regions' arguments and terminators, the mesh and, of a call, the signature.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "ir/type_format.h"
#include "ir/verifier.h"

namespace spmd::verifier {

using Types = std::vector<TensorType>;

// Groups of element types, as the specification constrains ops by them.
enum Elements : unsigned {
  kBooleans = 1,
  kSignedIntegers = 2,
  kUnsignedIntegers = 4,
  kFloats = 8,
  kComplex = 16,
  kIntegers = kSignedIntegers | kUnsignedIntegers,
  kNumbers = kIntegers | kFloats | kComplex,
  kAllElements = kNumbers | kBooleans,
};
bool contains(unsigned elements, DType dtype);

class OpView {
 public:
  OpView(const Module& module, const Function& fn, OpId id, const PlaceOfOp& place_of)
      : module(module), fn(fn), id(id), op(fn.op(id)), place_of_(place_of) {}

  const Module& module;
  const Function& fn;
  const OpId id;
  const Op& op;

  const TensorType& operand(size_t i) const { return fn.type(op.operands[i]); }
  const TensorType& result(size_t i) const { return fn.type(op.results[i]); }
  Types types(std::span<const ValueId> values) const;
  std::string place() const;  // as verify() says

  // Throws a UserError: place, op and fact; then the remedy, if there is one; then the op's text.
  [[noreturn]] void fail(std::string_view fact, std::string_view remedy = {}) const;
  // Fails with the formatted fact unless the condition holds.
  template <typename... Args>
  void require(bool condition, fmt::format_string<const Args&...> fact, const Args&... args) const {
    if (!condition) [[unlikely]]
      fail(fmt::format(fact, args...));
  }

  void require_counts(size_t operands, size_t results) const;
  // Every operand's element type is in the set of `elements`.
  void require_operands_of(unsigned elements) const;
  // "the padding value is tensor<i32>, expected tensor<f32>"
  void require_type(std::string_view what, const TensorType& found,
                    const TensorType& expected) const;
  // Dimensions in ascending order, none twice. Their range is checked elsewhere.
  void require_ascending(std::string_view what, const Dims& dims) const;
  // The region takes and returns these types.
  void require_region(size_t region, std::string_view what, const Types& arguments,
                      const Types& results) const;
  // The region reduces scalars of these types: (E0, E1, ..., E0, E1, ...) -> (E0, E1, ...).
  void require_reducer(size_t region, const std::vector<DType>& accumulators) const;

 private:
  const PlaceOfOp& place_of_;
};

// Whether values of `from` may be accumulated in `to`: the same kind of number, no narrower.
bool is_promotable(DType from, DType to);

}  // namespace spmd::verifier
