#include "runtime/program.h"

#include "runtime/device/cpu/kernel.h"
#include "runtime/placement.h"
#include "sharding/spec/axis.h"

namespace spmd {
namespace {

class SequenceKernel : public Kernel {
 public:
  void add(KernelPtr kernel) { kernels_.push_back(std::move(kernel)); }
  void run(const RunContext& context) override {
    for (const auto& kernel : kernels_) kernel->run(context);
  }

 private:
  std::vector<KernelPtr> kernels_;
};

// Decides by a predicate that the device has to hand over in each trip.
class WhileKernel : public Kernel {
 public:
  WhileKernel(const plan::While& step, ProgramContext& context)
      : device_(context.device),
        condition_(make_sequence(step.condition(), context)),
        body_(make_sequence(step.body(), context)),
        predicate_(step.predicate()) {}

  void run(const RunContext& context) override {
    condition_->run(context);
    while (holds(context)) {
      body_->run(context);
      condition_->run(context);
    }
  }

 private:
  bool holds(const RunContext& context) {
    std::byte value{};
    device_.copy_out(&value, predicate_.data(context), 1);
    return value != std::byte{0};
  }

  Device& device_;
  KernelPtr condition_, body_;
  BoundView predicate_;
};

// The condition computes nothing but the predicate, so nobody needs it where the trips are known.
class CountedKernel : public Kernel {
 public:
  CountedKernel(const plan::While& step, ProgramContext& context)
      : body_(make_sequence(step.body(), context)), trips_(step.trip_count()) {}

  void run(const RunContext& context) override {
    for (int64_t trip = 0; trip < trips_; ++trip) body_->run(context);
  }

 private:
  KernelPtr body_;
  int64_t trips_;
};

class BranchKernel : public Kernel {
 public:
  BranchKernel(const plan::Branch& step, ProgramContext& context)
      : device_(context.device), index_(step.index()) {
    for (const plan::Sequence& branch : step.branches())
      branches_.push_back(make_sequence(branch, context));
  }

  void run(const RunContext& context) override {
    std::byte value[8];
    device_.copy_out(value, index_.data(context), index_.element_bytes);
    const int64_t index = cpu::read_integer(value, index_.dtype);
    const auto last = static_cast<int64_t>(branches_.size()) - 1;
    const bool boolean = index_.dtype == plan::BOOL;
    const int64_t branch =
        boolean ? (index != 0 ? 0 : 1) : (index < 0 || index > last ? last : index);
    branches_[static_cast<size_t>(branch)]->run(context);
  }

 private:
  Device& device_;
  BoundView index_;
  std::vector<KernelPtr> branches_;
};

class AxisIndexKernel : public Kernel {
 public:
  AxisIndexKernel(const plan::AxisIndex& step, const ProgramContext& context)
      : device_(context.device), out_(step.out()) {
    const std::vector<int64_t> coordinates =
        context.mesh.coordinates_of(context.communicator.rank());
    index_ = static_cast<int32_t>(index_along(axes_of(step.axes()), coordinates, context.mesh));
  }
  void run(const RunContext& context) override {
    device_.copy_in(out_.data(context), &index_, sizeof index_);
  }

 private:
  Device& device_;
  BoundView out_;
  int32_t index_;
};

KernelPtr make_kernel(const plan::Step& step, ProgramContext& context) {
  switch (step.kind_case()) {
    case plan::Step::kWhile:
      if (step.while_().trip_count() > 0)
        return std::make_unique<CountedKernel>(step.while_(), context);
      return std::make_unique<WhileKernel>(step.while_(), context);
    case plan::Step::kBranch:
      return std::make_unique<BranchKernel>(step.branch(), context);
    case plan::Step::kAxisIndex:
      return std::make_unique<AxisIndexKernel>(step.axis_index(), context);
    default:
      return context.device.make_kernel(step, context.load);
  }
}

KernelPtr make_step(const plan::Step& step, ProgramContext& context) {
  if (step.has_collective())
    return make_collective(step, context.plan, context.mesh, context.communicator, context.device,
                           &context.collectives.emplace_back(), context.load);
  return context.device.in_order(step, make_kernel(step, context), nullptr);
}

}  // namespace

KernelPtr make_sequence(const plan::Sequence& sequence, ProgramContext& context) {
  auto result = std::make_unique<SequenceKernel>();
  for (const plan::Step& step : sequence.steps()) result->add(make_step(step, context));
  return result;
}

}  // namespace spmd
