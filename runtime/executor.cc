#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <spdlog/spdlog.h>

#include "runtime/device/cpu/compiled.h"
#include "runtime/device/cpu/gemm.h"
#include "runtime/placement.h"
#include "runtime/program.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int64_t local_bytes(const plan::Placement& placement) {
  return plan::element_count(placement.local_shape()) * plan::byte_size(placement.dtype());
}

std::string name_or_number(const std::string& name, const char* what, int number) {
  return name.empty() ? fmt::format("{} {}", what, number) : name;
}

}  // namespace

// Zeroed, aligned to cache lines.
struct Executor::Memory {
  explicit Memory(int64_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes)))) {
    if (!data)
      throw OutOfMemory("memory", fmt::format("cannot allocate {}", human_bytes(double(bytes))),
                        "use more ranks, or shard larger tensors: spmd-run check says what a mesh "
                        "needs");
    std::memset(data, 0, static_cast<size_t>(bytes));
  }
  ~Memory() { std::free(data); }
  std::byte* data;
};

struct Executor::Program {
  std::shared_ptr<const cpu::CompiledModule> compiled;
  ProgramContext context;
  std::unique_ptr<cpu::Kernel> body;
};

Executor::Executor(const plan::Plan& plan, comm::Communicator& communicator)
    : plan_(plan), communicator_(communicator), mesh_(mesh_of(plan)) {
  if (mesh_.num_devices() != communicator.size())
    throw UserError("mesh " + mesh_.to_string(),
                    fmt::format("has {} devices, but there are {} ranks", mesh_.num_devices(),
                                communicator.size()),
                    fmt::format("start {} ranks, or give a mesh of {} devices", mesh_.num_devices(),
                                communicator.size()));
  cpu::use_one_library_thread();
  allocate_buffers();
  find_aliases();
  load_kernels();
  const int program =
      plan.program_of_rank_size() == 0 ? 0 : plan.program_of_rank(communicator.rank());
  program_->body = make_sequence(plan.programs(program).body(), program_->context);
  if (program_->context.load.uses_local_buffers) allocate_locals();
  workspace_ = allocate(program_->context.load.workspace_bytes);
}

Executor::~Executor() = default;

std::byte* Executor::allocate(int64_t bytes) {
  const int64_t rounded = std::max<int64_t>((bytes + 63) / 64 * 64, 64);
  memory_bytes_ += bytes;
  return memory_.emplace_back(std::make_unique<Memory>(rounded))->data;
}

void Executor::allocate_buffers() {
  std::byte* arena = allocate(plan_.arena_bytes());
  for (const plan::Buffer& buffer : plan_.buffers()) {
    if (buffer.kind() == plan::Buffer::ARENA) {
      buffers_.push_back(arena + buffer.offset());
      continue;
    }
    if (buffer.kind() == plan::Buffer::LOCAL) {
      buffers_.push_back(nullptr);
      continue;
    }
    std::byte* data = allocate(buffer.bytes());
    buffers_.push_back(data);
    if (buffer.kind() != plan::Buffer::CONSTANT) continue;
    const std::string& element = buffer.data();
    for (int64_t done = 0; done < buffer.bytes(); done += static_cast<int64_t>(element.size()))
      std::memcpy(data + done, element.data(), element.size());
  }
}

void Executor::allocate_locals() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers(static_cast<int>(i));
    if (buffer.kind() == plan::Buffer::LOCAL) buffers_[i] = allocate(buffer.bytes());
  }
}

void Executor::load_kernels() {
  std::string note;
  program_ = std::unique_ptr<Program>(
      new Program{cpu::CompiledModule::load(plan_, &note),
                  ProgramContext{plan_, mesh_, communicator_, {}, {}}, nullptr});
  program_->context.load.compiled = program_->compiled.get();
  if (!note.empty() && communicator_.rank() == 0)
    spdlog::warn("the plan runs without its compiled kernels, slower: {}", note);
}

void Executor::find_aliases() {
  argument_of_result_.assign(static_cast<size_t>(plan_.results_size()), -1);
  std::vector<int> users(buffers_.size(), 0);  // results in each buffer
  for (const plan::Result& result : plan_.results()) ++users[static_cast<size_t>(result.buffer())];
  for (int a = 0; a < plan_.arguments_size(); ++a) {
    const plan::Argument& argument = plan_.arguments(a);
    const int32_t r = argument.aliased_result();
    if (r < 0) continue;
    argument_of_result_[static_cast<size_t>(r)] = a;
    const int32_t result_buffer = plan_.results(r).buffer();
    if (argument.buffer() == result_buffer) continue;
    const plan::Buffer::Kind kind = plan_.buffers(result_buffer).kind();
    Alias alias{argument.buffer(), result_buffer, false};
    alias.exchange = kind == plan::Buffer::RESULT && users[static_cast<size_t>(result_buffer)] == 1;
    if (kind == plan::Buffer::ARGUMENT)
      alias.staging = allocate(plan_.buffers(alias.argument_buffer).bytes());
    aliases_.push_back(alias);
  }
}

void Executor::exchange_aliases() {
  const auto buffer = [&](int32_t number) -> std::byte*& {
    return buffers_[static_cast<size_t>(number)];
  };
  const auto copy = [&](std::byte* to, const Alias& alias) {
    std::memcpy(to, buffer(alias.result_buffer),
                static_cast<size_t>(plan_.buffers(alias.argument_buffer).bytes()));
  };
  // What is in arguments is read before any of them changes.
  for (const Alias& alias : aliases_)
    if (alias.staging) copy(alias.staging, alias);
  for (Alias& alias : aliases_) {
    std::byte*& argument = buffer(alias.argument_buffer);
    if (alias.staging) {
      std::swap(argument, alias.staging);
    } else if (alias.exchange) {
      std::swap(argument, buffer(alias.result_buffer));
    } else {
      copy(argument, alias);
    }
  }
}

void Executor::set_argument(int index, const TensorView& global, const std::string& source) {
  const plan::Argument& argument = plan_.arguments(index);
  const plan::Placement& placement = argument.placement();
  const std::vector<int64_t> shape = plan::dims_of(placement.global_shape());
  if (global.dtype != placement.dtype() || !holds_shape(global.shape, shape))
    throw UserError(
        source,
        fmt::format("holds {} for {}, which is {}", describe(global.dtype, global.shape),
                    name_or_number(argument.name(), "argument", index),
                    describe(placement.dtype(), shape)),
        "give a tensor of that type and shape");
  cut_block(placement, block_of(placement, mesh_, communicator_.rank()), global.data,
            buffers_[static_cast<size_t>(argument.buffer())]);
}

void Executor::set_argument_local(int index, std::span<const std::byte> local) {
  const plan::Argument& argument = plan_.arguments(index);
  SPMD_CHECK(static_cast<int64_t>(local.size()) == local_bytes(argument.placement()),
             "{} bytes for argument {}", local.size(), index);
  if (local.empty()) return;
  std::memcpy(buffers_[static_cast<size_t>(argument.buffer())], local.data(), local.size());
}

StepTiming Executor::step() {
  const auto comm_ms = [&] {
    double total = 0;
    for (const CollectiveRecord& record : program_->context.collectives)
      total += record.milliseconds;
    return total;
  };
  const double comm_before = comm_ms();
  const Clock::time_point begin = Clock::now();
  program_->body->run({buffers_.data(), workspace_});
  exchange_aliases();
  StepTiming timing;
  timing.step_ms = milliseconds_since(begin);
  timing.comm_ms = comm_ms() - comm_before;
  timing.compute_ms = timing.step_ms - timing.comm_ms;
  timing.exposed_ms = timing.comm_ms;
  return timing;
}

std::span<const std::byte> Executor::result_local(int index) const {
  const int argument = argument_of_result_[static_cast<size_t>(index)];
  if (argument >= 0) return argument_local(argument);
  const plan::Result& result = plan_.results(index);
  return {buffers_[static_cast<size_t>(result.buffer())],
          static_cast<size_t>(local_bytes(result.placement()))};
}

std::span<const std::byte> Executor::argument_local(int index) const {
  const plan::Argument& argument = plan_.arguments(index);
  return {buffers_[static_cast<size_t>(argument.buffer())],
          static_cast<size_t>(local_bytes(argument.placement()))};
}

double Executor::result_scalar(int index) const {
  const plan::Placement& placement = plan_.results(index).placement();
  SPMD_CHECK(plan::element_count(placement.global_shape()) == 1, "result {} is no scalar", index);
  return element_as_double(placement.dtype(), result_local(index).data());
}

std::optional<Tensor> Executor::gather_result(int index) {
  const plan::Result& result = plan_.results(index);
  return gather(result.placement(), result_local(index).data(),
                name_or_number(result.name(), "result", index));
}

std::optional<Tensor> Executor::gather_argument(int index) {
  const plan::Argument& argument = plan_.arguments(index);
  return gather(argument.placement(), argument_local(index).data(),
                name_or_number(argument.name(), "argument", index));
}

// Of ranks that hold the same block, the one in rank 0's group along the cutting axes sends it.
std::optional<Tensor> Executor::gather(const plan::Placement& placement, const std::byte* local,
                                       const std::string& name) {
  const int rank = communicator_.rank();
  const std::vector<int64_t> holders = group_of(0, cutting_axes(placement), mesh_);
  if (std::find(holders.begin(), holders.end(), rank) == holders.end()) return std::nullopt;
  comm::Group& group = communicator_.group({holders.begin(), holders.end()});
  const int64_t bytes = local_bytes(placement);
  const auto root =
      static_cast<int>(std::find(holders.begin(), holders.end(), 0) - holders.begin());
  std::vector<std::byte> blocks;
  if (rank == 0 && holders.size() > 1) blocks.resize(static_cast<size_t>(bytes) * holders.size());
  if (holders.size() > 1)
    communicator_.gather(group, local, blocks.data(), bytes, root, "gathering " + name);
  if (rank != 0) return std::nullopt;
  Tensor global{placement.dtype(), plan::dims_of(placement.global_shape()), {}};
  global.bytes.resize(static_cast<size_t>(global.view().num_bytes()));
  for (size_t i = 0; i < holders.size(); ++i)
    paste_block(placement, block_of(placement, mesh_, holders[i]),
                holders.size() > 1 ? blocks.data() + static_cast<int64_t>(i) * bytes : local,
                global.bytes.data());
  return global;
}

const std::deque<CollectiveRecord>& Executor::collectives() const {
  return program_->context.collectives;
}

void Executor::reset_collectives() {
  for (CollectiveRecord& record : program_->context.collectives) {
    record.calls = record.bytes = 0;
    record.milliseconds = 0;
  }
}

}  // namespace spmd
