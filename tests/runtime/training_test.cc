// A tiny training program, written as a Plan by hand, on ranks that are threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <mutex>

#include "collectives/comm/local.h"
#include "runtime/io/safetensors.h"
#include "runtime/plan/plan.h"
#include "runtime/training_loop.h"
#include "support/error.h"
#include "tests/runtime/kernel_bench.h"

namespace spmd {
namespace {

using cpu::KernelBench;
using cpu::Scalars;

constexpr int64_t kRows = 6;

void place(plan::Placement* placement, std::vector<int64_t> global, std::vector<int64_t> local,
           bool cut) {
  placement->set_dtype(plan::F32);
  for (size_t d = 0; d < global.size(); ++d) {
    placement->add_global_shape(global[d]);
    placement->add_local_shape(local[d]);
    plan::AxisList* axes = placement->add_axes();
    if (cut && d == 0) axes->add_axes();
  }
}

int add_buffer(plan::Plan& plan, plan::Buffer::Kind kind, int64_t bytes) {
  plan::Buffer* buffer = plan.add_buffers();
  buffer->set_kind(kind);
  buffer->set_bytes(bytes);
  if (kind == plan::Buffer::ARENA) {
    buffer->set_offset(plan.arena_bytes());
    plan.set_arena_bytes(plan.arena_bytes() + 64);
  }
  return plan.buffers_size() - 1;
}

void add_elementwise(plan::Sequence* body, const Scalars& scalars,
                     const std::vector<int64_t>& shape, std::vector<plan::View> inputs,
                     const plan::View& output) {
  plan::Step* step = body->add_steps();
  step->set_op("elementwise (m.mlir:1)");
  plan::Elementwise* e = step->mutable_elementwise();
  for (int64_t size : shape) e->add_shape(size);
  *e->mutable_program() = scalars.program;
  for (const plan::View& input : inputs) *e->add_inputs() = input;
  *e->add_outputs() = output;
}

// w -> w - loss/10 with loss = sum over rows of w * x; x[6] is cut over the ranks, w is a vector of
// 2 of which each rank holds the whole. Results: new w (aliased), loss.
plan::Plan training_plan(int ranks) {
  plan::Plan plan;
  plan.set_source("m.mlir");
  plan::MeshAxis* axis = plan.add_mesh();
  axis->set_name("data");
  axis->set_size(ranks);
  const int64_t local = (kRows + ranks - 1) / ranks;
  const int w = add_buffer(plan, plan::Buffer::ARGUMENT, 8),
            x = add_buffer(plan, plan::Buffer::ARGUMENT, local * 4),
            new_w = add_buffer(plan, plan::Buffer::RESULT, 8),
            loss = add_buffer(plan, plan::Buffer::RESULT, 4),
            partial = add_buffer(plan, plan::Buffer::ARENA, 4),
            zero = add_buffer(plan, plan::Buffer::CONSTANT, 4);
  plan.mutable_buffers(zero)->set_data(std::string(4, '\0'));
  plan::Argument* argument = plan.add_arguments();
  argument->set_name("params.w");
  argument->set_buffer(w);
  argument->set_aliased_result(0);
  place(argument->mutable_placement(), {2}, {2}, false);
  argument = plan.add_arguments();
  argument->set_name("x");
  argument->set_buffer(x);
  argument->set_aliased_result(-1);
  place(argument->mutable_placement(), {kRows}, {local}, true);
  plan::Result* result = plan.add_results();
  result->set_name("params.w");
  result->set_buffer(new_w);
  place(result->mutable_placement(), {2}, {2}, false);
  result = plan.add_results();
  result->set_buffer(loss);
  place(result->mutable_placement(), {}, {}, false);

  plan::Sequence* body = plan.add_programs()->mutable_body();
  // partial = sum of x (padding is zero), times w[1].
  plan::Step* step = body->add_steps();
  step->set_op("reduce (m.mlir:2)");
  plan::Reduce* reduce = step->mutable_reduce();
  reduce->add_shape(local);
  reduce->add_dims(0);
  reduce->set_op(plan::ADD);
  *reduce->add_inputs() = KernelBench::view(x, plan::F32, {local});
  *reduce->add_inits() = KernelBench::view(zero, plan::F32, {});
  *reduce->add_outputs() = KernelBench::view(partial, plan::F32, {});
  Scalars product;
  const int a = product.input(plan::F32), b = product.input(plan::F32);
  product.returns({product.op(plan::MULTIPLY, plan::F32, {a, b})});
  add_elementwise(
      body, product, {},
      {KernelBench::view(partial, plan::F32, {}), KernelBench::view(w, plan::F32, {}, {}, 1)},
      KernelBench::view(partial, plan::F32, {}));
  step = body->add_steps();
  step->set_op("psum (m.mlir:3)");
  plan::Collective* collective = step->mutable_collective();
  collective->set_kind(plan::Collective::ALL_REDUCE);
  collective->mutable_axes()->add_axes();
  collective->set_reduction(plan::ADD);
  plan::Collective::Part* part = collective->add_parts();
  *part->mutable_in() = KernelBench::view(partial, plan::F32, {});
  *part->mutable_out() = KernelBench::view(loss, plan::F32, {});
  Scalars update;
  const int weight = update.input(plan::F32), l = update.input(plan::F32);
  const int tenth = update.op(plan::MULTIPLY, plan::F32, {l, update.constant(plan::F32, 0.125f)});
  update.returns({update.op(plan::SUBTRACT, plan::F32, {weight, tenth})});
  add_elementwise(
      body, update, {2},
      {KernelBench::view(w, plan::F32, {2}), KernelBench::view(loss, plan::F32, {2}, {0})},
      KernelBench::view(new_w, plan::F32, {2}));
  return plan::parse_plan(plan::serialize_plan(plan), "test");
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Training : public ::testing::TestWithParam<int> {
 protected:
  Tensor w_{plan::F32, {2}, bytes_of({1, 2})};
  Tensor x_{
      plan::F32, {3, kRows}, bytes_of({1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0})};
};

TEST_P(Training, StepsCarryStateAndAdvanceBatches) {
  const plan::Plan plan = training_plan(GetParam());
  const std::string path =
      std::filesystem::temp_directory_path() /
      ("spmd_training_" + std::to_string(::getpid()) + "_" + std::to_string(GetParam()));
  std::vector<float> losses;
  comm::run_local_ranks(GetParam(), {}, [&](comm::Communicator& communicator) {
    Executor executor(plan, communicator);
    TrainingLoop loop(executor);
    EXPECT_EQ(loop.metrics(), std::vector<int>{1});
    TrainingRun run;
    run.initial.push_back({0, w_.view(), "state"});
    run.batches.push_back({1, x_.view(), "batches"});
    run.on_step = [&](const StepReport& report) {
      if (communicator.rank() == 0) losses.push_back(static_cast<float>(report.metrics[0]));
      EXPECT_GE(report.timing.step_ms, report.timing.comm_ms);
      return true;
    };
    loop.prepare(std::move(run));
    loop.run();
    EXPECT_EQ(executor.collectives()[0].calls, 3);
    EXPECT_EQ(executor.collectives()[0].axes, "data");
    loop.write_state(path);
  });
  // w: (1, 2) -> loss 12, w - 1.5 -> loss 0.5, w - 0.0625 -> loss 6 * 0.4375.
  EXPECT_EQ(losses, (std::vector<float>{12, 0.5f, 6 * 0.4375f}));
  const SafetensorsFile state(path);
  ASSERT_NE(state.find("params.w"), nullptr);
  const double step = 6 * 0.4375 / 8;
  EXPECT_EQ(element_as_double(plan::F32, state.find("params.w")->data), -0.5625 - step);
  EXPECT_EQ(element_as_double(plan::F32, state.find("params.w")->data + 4), 0.4375 - step);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Training, ::testing::Values(1, 2, 3, 4));

class TrainingErrors : public Training {
 protected:
  std::string error_of(const std::function<void(TrainingRun&)>& change) {
    const plan::Plan plan = training_plan(2);
    try {
      comm::run_local_ranks(2, {}, [&](comm::Communicator& communicator) {
        Executor executor(plan, communicator);
        TrainingLoop loop(executor);
        TrainingRun run;
        run.initial.push_back({0, w_.view(), "state: tensor w"});
        run.batches.push_back({1, x_.view(), "batches: tensor x"});
        change(run);
        loop.prepare(std::move(run));
      });
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(TrainingErrors, BeforeTheFirstStep) {
  EXPECT_EQ(error_of([](TrainingRun& run) { run.steps = 5; }),
            "batches: tensor x: holds 3 batches, but 5 steps are asked for\n"
            "  give more batches, or ask for fewer steps: --steps 3");
  EXPECT_EQ(error_of([](TrainingRun& run) { run.initial.clear(); }),
            "m.mlir: 1 argument without a value:\n  params.w f32[2]\n"
            "  give them in the state or in the batches");
  EXPECT_NE(error_of([](TrainingRun& run) {
              run.initial[0].value.shape = {1};
            }).find("state: tensor w: holds f32[1] for params.w, which is f32[2]"),
            std::string::npos);
  EXPECT_NE(error_of([](TrainingRun& run) {
              run.batches[0].values.dtype = plan::S32;
            }).find("batches: tensor x: is i32[3,6]; a batch of x is f32[6]"),
            std::string::npos);
  EXPECT_EQ(error_of([](TrainingRun& run) { run.batches[0].values.shape[0] = 0; }),
            "batches: tensor x: holds no batches: its leading dimension is 0\n"
            "  give at least one batch: the leading dimension counts the steps");
}

// What the next step begins with is read before any of it is written, wherever results are kept:
// two pieces of state trade places, a third comes from the arena.
TEST(Executor, StateMayTradePlaces) {
  plan::Plan plan;
  const int a = add_buffer(plan, plan::Buffer::ARGUMENT, 8),
            b = add_buffer(plan, plan::Buffer::ARGUMENT, 8),
            c = add_buffer(plan, plan::Buffer::ARGUMENT, 8),
            sum = add_buffer(plan, plan::Buffer::ARENA, 8);
  for (const auto& [argument, result] : {std::pair(a, b), {b, a}, {c, sum}}) {
    plan::Argument* in = plan.add_arguments();
    in->set_buffer(argument);
    in->set_aliased_result(plan.results_size());
    place(in->mutable_placement(), {2}, {2}, false);
    plan::Result* out = plan.add_results();
    out->set_buffer(result);
    place(out->mutable_placement(), {2}, {2}, false);
  }
  Scalars add;
  const int x = add.input(plan::F32), y = add.input(plan::F32);
  add.returns({add.op(plan::ADD, plan::F32, {x, y})});
  add_elementwise(plan.add_programs()->mutable_body(), add, {2},
                  {KernelBench::view(a, plan::F32, {2}), KernelBench::view(c, plan::F32, {2})},
                  KernelBench::view(sum, plan::F32, {2}));
  plan = plan::parse_plan(plan::serialize_plan(plan), "test");
  comm::run_local_ranks(1, {}, [&](comm::Communicator& communicator) {
    Executor executor(plan, communicator);
    int next = 0;
    for (const std::vector<float>& values : {std::vector<float>{1, 2}, {3, 4}, {5, 6}}) {
      executor.set_argument_local(next++, bytes_of(values));
    }
    const auto argument = [&](int index) {
      std::vector<float> values(2);
      std::memcpy(values.data(), executor.argument_local(index).data(), 8);
      return values;
    };
    executor.step();
    EXPECT_EQ(argument(0), (std::vector<float>{3, 4}));
    EXPECT_EQ(argument(1), (std::vector<float>{1, 2}));
    EXPECT_EQ(argument(2), (std::vector<float>{6, 8}));
    executor.step();
    EXPECT_EQ(argument(0), (std::vector<float>{1, 2}));
    EXPECT_EQ(argument(1), (std::vector<float>{3, 4}));
    EXPECT_EQ(argument(2), (std::vector<float>{9, 12}));
  });
}

TEST(Executor, WantsAsManyRanksAsDevices) {
  const plan::Plan plan = training_plan(3);
  try {
    comm::run_local_ranks(2, {}, [&](comm::Communicator& c) { Executor executor(plan, c); });
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "mesh data=3: has 3 devices, but there are 2 ranks\n"
                 "  start 3 ranks, or give a mesh of 2 devices");
  }
}

}  // namespace
}  // namespace spmd
