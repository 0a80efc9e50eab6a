#include "launcher/random_init.h"

#include <fmt/format.h>

#include "runtime/memory_use.h"
#include "runtime/normal_value.h"
#include "support/names.h"

namespace spmd {
namespace {

constexpr double kDeviation = 0.02;

}  // namespace

RandomDraw draw_of(const plan::Plan& plan, int number) {
  const plan::Argument& argument = plan.arguments(number);
  RandomDraw draw;
  const bool has_name = !is_place_only(argument.name());
  for (char c : has_name ? argument.name() : fmt::format("argument {}", number))
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
