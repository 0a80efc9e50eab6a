#include "runtime/program.h"

#include <cstring>

#include "runtime/placement.h"
#include "sharding/spec/axis.h"

namespace spmd {
namespace {

class SequenceKernel : public cpu::Kernel {
 public:
  void add(std::unique_ptr<cpu::Kernel> kernel) { kernels_.push_back(std::move(kernel)); }
  void run(const cpu::RunContext& context) override {
    for (const auto& kernel : kernels_) kernel->run(context);
  }

 private:
  std::vector<std::unique_ptr<cpu::Kernel>> kernels_;
};

class WhileKernel : public cpu::Kernel {
 public:
  WhileKernel(const plan::While& step, ProgramContext& context)
      : condition_(make_sequence(step.condition(), context)),
        body_(make_sequence(step.body(), context)),
        predicate_(step.predicate()) {}

  void run(const cpu::RunContext& context) override {
    condition_->run(context);
    while (*predicate_.data(context) != std::byte{0}) {
      body_->run(context);
      condition_->run(context);
    }
  }

 private:
  std::unique_ptr<cpu::Kernel> condition_, body_;
  cpu::BoundView predicate_;
};

class BranchKernel : public cpu::Kernel {
 public:
  BranchKernel(const plan::Branch& step, ProgramContext& context) : index_(step.index()) {
    for (const plan::Sequence& branch : step.branches())
      branches_.push_back(make_sequence(branch, context));
  }

  void run(const cpu::RunContext& context) override {
    const int64_t index = cpu::read_integer(index_.data(context), index_.dtype);
    const auto last = static_cast<int64_t>(branches_.size()) - 1;
    const bool boolean = index_.dtype == plan::BOOL;
    const int64_t branch =
        boolean ? (index != 0 ? 0 : 1) : (index < 0 || index > last ? last : index);
    branches_[static_cast<size_t>(branch)]->run(context);
  }

 private:
  cpu::BoundView index_;
  std::vector<std::unique_ptr<cpu::Kernel>> branches_;
};

class AxisIndexKernel : public cpu::Kernel {
 public:
  AxisIndexKernel(const plan::AxisIndex& step, const ProgramContext& context) : out_(step.out()) {
    const std::vector<int64_t> coordinates =
        context.mesh.coordinates_of(context.communicator.rank());
    index_ = static_cast<int32_t>(index_along(axes_of(step.axes()), coordinates, context.mesh));
  }
  void run(const cpu::RunContext& context) override {
    std::memcpy(out_.data(context), &index_, sizeof index_);
  }

 private:
  cpu::BoundView out_;
  int32_t index_;
};

std::unique_ptr<cpu::Kernel> make_step(const plan::Step& step, ProgramContext& context) {
  switch (step.kind_case()) {
    case plan::Step::kWhile:
      return std::make_unique<WhileKernel>(step.while_(), context);
    case plan::Step::kBranch:
      return std::make_unique<BranchKernel>(step.branch(), context);
    case plan::Step::kAxisIndex:
      return std::make_unique<AxisIndexKernel>(step.axis_index(), context);
    case plan::Step::kCollective:
      return make_collective(step, context.plan, context.mesh, context.communicator,
                             &context.collectives.emplace_back(), context.load);
    default:
      return cpu::make_kernel(step, context.load);
  }
}

}  // namespace

std::unique_ptr<cpu::Kernel> make_sequence(const plan::Sequence& sequence,
                                           ProgramContext& context) {
  auto result = std::make_unique<SequenceKernel>();
  for (const plan::Step& step : sequence.steps()) result->add(make_step(step, context));
  return result;
}

}  // namespace spmd
