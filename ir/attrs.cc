#include "ir/attrs.h"

namespace spmd {

Attrs::Attrs() = default;
Attrs::Attrs(const Attrs& other) = default;
Attrs::Attrs(Attrs&& other) noexcept = default;
Attrs& Attrs::operator=(const Attrs& other) = default;
Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
Attrs::~Attrs() = default;

bool Attrs::operator==(const Attrs& other) const {
  return static_cast<const AttrsVariant&>(*this) == static_cast<const AttrsVariant&>(other);
}

BoxedAttrs::BoxedAttrs(Attrs attrs) {
  if (!std::holds_alternative<NoAttrs>(attrs)) box_ = std::make_unique<Attrs>(std::move(attrs));
}

BoxedAttrs::BoxedAttrs(const BoxedAttrs& other)
    : box_(other.box_ ? std::make_unique<Attrs>(*other.box_) : nullptr) {}

BoxedAttrs& BoxedAttrs::operator=(const BoxedAttrs& other) {
  if (this != &other) *this = BoxedAttrs(other);
  return *this;
}

const Attrs& BoxedAttrs::none() {
  static const Attrs none;
  return none;
}

bool BoxedAttrs::operator==(const BoxedAttrs& other) const {
  return (!box_ && !other.box_) || get() == other.get();
}

}  // namespace spmd
