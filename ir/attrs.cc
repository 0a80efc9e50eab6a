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

}  // namespace spmd
