#include "launcher/random_init.h"

#include "runtime/memory_use.h"
#include "runtime/normal_value.h"

namespace spmd {
namespace {

constexpr double kDeviation = 0.02;

}  // namespace

NormalDraw draw_of(const std::string& name) {
  NormalDraw draw;
  for (char c : name) draw.seed = normal::mix(draw.seed * 31 + static_cast<unsigned char>(c));
  draw.deviation = is_optimizer_state(name) ? 0 : kDeviation;
  return draw;
}

}  // namespace spmd
