// Random programs, damaged: whatever verify() lets pass makes evaluator, passes, code generation
// and runtime throw nothing but a UserError.
#include <cstdio>

#include "gtest/gtest.h"
#include "ir/serialize/decode.h"
#include "ir/serialize/encode.h"
#include "ir/text.h"
#include "support/error.h"
#include "tests/differential/damage.h"
#include "tests/differential/random_program.h"
#include "tests/differential/seeds.h"

namespace spmd::testing {
namespace {

struct Counts {
  int accepted = 0, ran = 0;
};

void check(uint64_t seed, Counts& counts) {
  Random random(seed);
  ir::Module message;
  serialize_internal::encode_module(random_program(seed / 8 + 1), message);
  add_types(message, random);
  for (int64_t i = random.pick(1, 3); i > 0; --i) damage(message, random);
  std::optional<Module> module;
  try {
    module = serialize_internal::decode_module(message, "damaged");
  } catch (const UserError&) {
    return;
  }
  ++counts.accepted;
  if (!is_small(*module)) return;
  ++counts.ran;
  if (const auto failure = failure_of(*module, random)) {
    ADD_FAILURE() << "seed " << seed << ", " << *failure << "\n" << print_stablehlo(*module);
  }
}

TEST(DamagedModules, MakeNothingFailInternally) {
  const SeedRange range = seed_range("SPMD_DAMAGE_SEEDS", 6000);
  Counts counts;
  for (uint64_t seed = range.from; seed <= range.to; ++seed) {
    announce_seed(seed);
    check(seed, counts);
  }
  std::printf("%d accepted, %d evaluated, compiled and run\n", counts.accepted, counts.ran);
}

}  // namespace
}  // namespace spmd::testing
