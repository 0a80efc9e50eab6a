#include "launcher/random_init.h"

#include "runtime/memory_use.h"
#include "runtime/normal_value.h"

namespace spmd {
namespace {

constexpr double kDeviation = 0.02;

}  // namespace

RandomDraw draw_of(const plan::Argument& argument) {
  RandomDraw draw;
  for (char c : argument.name())
    draw.seed = normal::mix(draw.seed * 31 + static_cast<unsigned char>(c));
  if (is_optimizer_state(argument.name())) return draw;
  draw.deviation = kDeviation;
  draw.bound = argument.index_bound();
  return draw;
}

bool lacks_bound(const plan::Argument& argument) {
  return plan::is_integer(argument.placement().dtype()) && argument.index_bound() == 0 &&
         !is_optimizer_state(argument.name());
}

}  // namespace spmd
