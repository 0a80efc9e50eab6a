// Plans between random shardings, executed on pretend data and compared with exhaustive search.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/collectives/planning/exhaustive.h"
#include "tests/collectives/planning/simulate.h"

namespace spmd {
namespace {

struct Case {
  Mesh mesh;
  std::vector<int64_t> shape;
  Sharding from, to;

  std::string to_string() const {
    std::string text = mesh.to_string() + " shape";
    for (int64_t extent : shape) text += " " + std::to_string(extent);
    return text + ": " + from.to_string(mesh) + " -> " + to.to_string(mesh);
  }
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Case next() {
    Case c;
    std::vector<MeshAxis> axes;
    const int64_t count = below(3) + 1;
    static constexpr int64_t kSizes[] = {1, 2, 2, 3, 4, 4, 6};
    for (int64_t i = 0; i < count; ++i) {
      axes.push_back({std::string(1, static_cast<char>('x' + i)), kSizes[below(7)]});
    }
    std::vector<int64_t> ids;
    Mesh plain(axes);
    if (below(4) == 0) {
      for (int64_t i = 0; i < plain.num_devices(); ++i) ids.push_back(i);
      std::shuffle(ids.begin(), ids.end(), random_);
    }
    c.mesh = Mesh(axes, ids);
    const int64_t rank = below(3) + 1;
    c.from = sharding(c.mesh, rank);
    c.to = sharding(c.mesh, rank);
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t shards = std::lcm(num_shards(c.from, d, c.mesh), num_shards(c.to, d, c.mesh));
      c.shape.push_back(shards * (below(3) == 0 ? 4 : 1));
    }
    return c;
  }

 private:
  int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }

  Sharding sharding(const Mesh& mesh, int64_t rank) {
    AxisList atoms = mesh_atoms(mesh);
    if (below(2) == 0) std::shuffle(atoms.begin(), atoms.end(), random_);
    Sharding sharding = Sharding::replicate(rank);
    for (const AxisRef& atom : atoms) {
      const int64_t place = below(rank + 2);
      if (place < rank) {
        sharding.dims[static_cast<size_t>(place)].axes.push_back(atom);
      } else if (place == rank && below(2) == 0) {
        sharding.unreduced.push_back(atom);
      }
    }
    return sharding;
  }

  std::mt19937 random_;
};

int64_t num_atoms(const Case& c) {
  int64_t count = 0;
  for (const AxisRef& atom : mesh_atoms(c.mesh)) count += atom.size_in(c.mesh) > 1;
  return count;
}

TEST(ReshardProperty, PlansPlaceData) {
  Generator generator(1);
  for (int i = 0; i < 3000; ++i) {
    const Case c = generator.next();
    SCOPED_TRACE(c.to_string());
    const ReshardPlan plan = plan_reshard(c.shape, 4, c.from, c.to, c.mesh, CostModel());
    const testing::Block global = testing::numbered(c.shape);
    const testing::Blocks before = testing::distribute(global, c.from, c.mesh);
    const testing::Blocks after = testing::execute(plan, c.from, before, c.mesh);
    ASSERT_TRUE(testing::holds(after, global, c.to, c.mesh));
  }
}

// With large elements bytes decide, with small ones latency.
void expect_near_least(int64_t element_bytes, uint32_t seed, int cases) {
  Generator generator(seed);
  for (int i = 0; i < cases;) {
    const Case c = generator.next();
    if (num_atoms(c) > 4) continue;
    ++i;
    SCOPED_TRACE(c.to_string());
    const CostModel cost;
    const ReshardPlan plan = plan_reshard(c.shape, element_bytes, c.from, c.to, c.mesh, cost);
    const auto least = [&](testing::Constraint constraint) {
      return testing::least_seconds(c.shape, element_bytes, c.from, c.to, c.mesh, cost, constraint);
    };
    if (plan.seconds <= least({}) * 1.05 + 1e-12) continue;
    // Not the least, to save bytes or memory.
    EXPECT_FALSE(plan.full_rematerialization);
    if (plan.seconds <= least({.below_full_size = true}) * 1.05 + 1e-12) continue;
    EXPECT_LE(plan.seconds, least({.avoid_rematerialization = true}) * 1.05 + 1e-12);
  }
}

TEST(ReshardProperty, NearLeastWhenBytesDecide) { expect_near_least(1'000'000, 2, 600); }

TEST(ReshardProperty, NearLeastWhenLatencyDecides) { expect_near_least(4, 3, 600); }

TEST(ReshardProperty, Deterministic) {
  Generator generator(4);
  for (int i = 0; i < 200; ++i) {
    const Case c = generator.next();
    const ReshardPlan a = plan_reshard(c.shape, 4, c.from, c.to, c.mesh, CostModel());
    const ReshardPlan b = plan_reshard(c.shape, 4, c.from, c.to, c.mesh, CostModel());
    ASSERT_EQ(a.steps.size(), b.steps.size()) << c.to_string();
    for (size_t s = 0; s < a.steps.size(); ++s) {
      EXPECT_EQ(a.steps[s].kind, b.steps[s].kind);
      EXPECT_EQ(a.steps[s].result, b.steps[s].result);
    }
  }
}

}  // namespace
}  // namespace spmd
