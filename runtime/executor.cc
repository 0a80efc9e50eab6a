#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/device/cpu/cpu_device.h"
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

struct Executor::Program {
  ProgramContext context;
  KernelPtr body;
  // What makes each of the Plan's carried values, and whether it has to before the next step.
  struct Derivation {
    KernelPtr kernel;
    bool is_due = true;
  };
  std::vector<Derivation> derivations;
};

Executor::Executor(const plan::Plan& plan, comm::Communicator& communicator,
                   std::unique_ptr<Device> device)
    : plan_(plan),
      communicator_(communicator),
      mesh_(mesh_of(plan)),
      device_(device ? std::move(device) : std::make_unique<cpu::CpuDevice>(1)) {
  if (mesh_.num_devices() != communicator.size())
    throw UserError("mesh " + mesh_.to_string(),
                    fmt::format("has {} devices, but there are {} ranks", mesh_.num_devices(),
                                communicator.size()),
                    fmt::format("start {} ranks, or give a mesh of {} devices", mesh_.num_devices(),
                                communicator.size()));
  const Clock::time_point begin = Clock::now();
  device_->load(plan);
  preparation_.load_ms = milliseconds_since(begin);
  check_memory();
  allocate_buffers();
  find_aliases();
  program_ = std::unique_ptr<Program>(
      new Program{ProgramContext{plan_, mesh_, communicator_, *device_, {}, {}}, nullptr, {}});
  const int program =
      plan.program_of_rank_size() == 0 ? 0 : plan.program_of_rank(communicator.rank());
  const Clock::time_point loaded = Clock::now();
  program_->body = make_sequence(plan.programs(program).body(), program_->context);
  for (const plan::Carried& carried : plan.carried())
    program_->derivations.push_back(
        {device_->make_kernel(carried.derive(), program_->context.load)});
  preparation_.load_ms += milliseconds_since(loaded);
  if (program_->context.load.uses_local_buffers) allocate_locals();
}

Executor::~Executor() = default;

std::byte* Executor::allocate(int64_t bytes) {
  memory_bytes_ += bytes;
  return device_->allocate(bytes);
}

// Says so before anything is allocated, with what the bytes are for.
void Executor::check_memory() const {
  const int64_t free = device_->free_memory();
  if (free == INT64_MAX) return;
  const MemoryUse use = spmd::memory_use(plan_);
  if (use.total() <= free) return;
  const auto text = [](int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };
  std::string table = to_string(use);
  table.pop_back();
  throw OutOfMemory(
      device_->description(),
      fmt::format("{} of memory are free, but the program needs {}:\n{}", text(free),
                  text(use.total()), table),
      "use more ranks, or shard larger tensors: spmd-run check says what a mesh needs");
}

MemoryUse Executor::memory_use() const {
  MemoryUse use = spmd::memory_use(plan_);
  if (workspace_ != nullptr) use.workspaces = workspace_bytes_;
  return use;
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
    buffers_.push_back(allocate(buffer.bytes()));
    if (buffer.kind() == plan::Buffer::CONSTANT) fill_constant(buffer, buffers_.back());
  }
}

void Executor::fill_constant(const plan::Buffer& buffer, std::byte* data) {
  const std::string& element = buffer.data();
  const auto size = static_cast<int64_t>(element.size());
  if (size == buffer.bytes()) return device_->copy_in(data, element.data(), size);
  // Repeated up to a piece at a time.
  constexpr int64_t kPiece = 64 << 10;
  std::string piece;
  while (static_cast<int64_t>(piece.size()) < std::min(kPiece, buffer.bytes())) piece += element;
  const auto step = static_cast<int64_t>(piece.size());
  for (int64_t done = 0; done < buffer.bytes(); done += step)
    device_->copy_in(data + done, piece.data(), std::min(step, buffer.bytes() - done));
}

void Executor::allocate_locals() {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const plan::Buffer& buffer = plan_.buffers(static_cast<int>(i));
    if (buffer.kind() == plan::Buffer::LOCAL) buffers_[i] = allocate(buffer.bytes());
  }
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
  for (const plan::Carried& carried : plan_.carried())
    if (carried.next() != carried.buffer())
      aliases_.push_back({carried.buffer(), carried.next(), /*exchange=*/true});
}

void Executor::exchange_aliases() {
  const auto buffer = [&](int32_t number) -> std::byte*& {
    return buffers_[static_cast<size_t>(number)];
  };
  const auto copy = [&](std::byte* to, const Alias& alias) {
    device_->copy(to, buffer(alias.result_buffer), plan_.buffers(alias.argument_buffer).bytes());
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

void Executor::note_new_value(int argument) {
  for (int c = 0; c < plan_.carried_size(); ++c)
    if (plan_.carried(c).argument() == argument)
      program_->derivations[static_cast<size_t>(c)].is_due = true;
}

void Executor::derive_carried() {
  for (Program::Derivation& derivation : program_->derivations)
    if (std::exchange(derivation.is_due, false))
      derivation.kernel->run({buffers_.data(), workspace_});
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
        global.dtype != placement.dtype()
            ? remedy_for_type(placement.dtype())
            : "give a tensor of that shape, which is global: of all ranks together");
  write_argument(index, [&](const LocalBlock& block, std::byte* local) {
    cut_block(placement, block, global.data, local);
  });
}

void Executor::draw_argument(int index, const RandomDraw& draw) {
  const plan::Argument& argument = plan_.arguments(index);
  const plan::Placement& placement = argument.placement();
  const LocalBlock block = block_of(placement, mesh_, communicator_.rank());
  note_new_value(index);
  if (device_->draw(draw, placement, block, buffers_[static_cast<size_t>(argument.buffer())]))
    return;
  write_argument(index, [&](const LocalBlock& part, std::byte* local) {
    draw_block(draw, placement, part, local);
  });
}

void Executor::write_argument(int index, const BlockWriter& write) {
  const plan::Argument& argument = plan_.arguments(index);
  const plan::Placement& placement = argument.placement();
  const auto bytes = static_cast<size_t>(local_bytes(placement));
  note_new_value(index);
  std::byte* data = buffers_[static_cast<size_t>(argument.buffer())];
  std::byte* local = data;
  if (!device_->shares_host_memory()) {
    host_copy_.resize(bytes);
    local = host_copy_.data();
  }
  std::memset(local, 0, bytes);
  write(block_of(placement, mesh_, communicator_.rank()), local);
  if (local != data) device_->copy_in(data, local, static_cast<int64_t>(bytes));
}

void Executor::set_argument_local(int index, std::span<const std::byte> local) {
  const plan::Argument& argument = plan_.arguments(index);
  SPMD_CHECK(static_cast<int64_t>(local.size()) == local_bytes(argument.placement()),
             "{} bytes for argument {}", local.size(), index);
  note_new_value(index);
  device_->copy_in(buffers_[static_cast<size_t>(argument.buffer())], local.data(),
                   static_cast<int64_t>(local.size()));
}

void Executor::settle() {
  if (workspace_ != nullptr) return;
  const Clock::time_point begin = Clock::now();
  device_->open_connections();
  preparation_.connect_ms = milliseconds_since(begin);
  device_->settle(program_->context.load);
  preparation_.tune_ms = milliseconds_since(begin) - preparation_.connect_ms;
  allocate_workspace();
}

void Executor::allocate_workspace() {
  constexpr int64_t kAlignment = 256;
  const LoadContext& load = program_->context.load;
  const int64_t kernels = (load.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
  const bool apart = device_->overlaps_collectives() && load.message_bytes > 0;
  workspace_bytes_ =
      apart ? kernels + load.message_bytes : std::max(load.workspace_bytes, load.message_bytes);
  workspace_ = allocate(workspace_bytes_);
  messages_ = apart ? workspace_ + kernels : workspace_;
}

StepTiming Executor::step() {
  settle();
  const auto total = [&](double CollectiveRecord::*milliseconds) {
    double sum = 0;
    for (const CollectiveRecord& record : program_->context.collectives)
      sum += record.*milliseconds;
    return sum;
  };
  const double comm_before = total(&CollectiveRecord::milliseconds);
  const double exposed_before = total(&CollectiveRecord::exposed_ms);
  const Clock::time_point begin = Clock::now();
  derive_carried();
  device_->run_step(buffers_, [&] {
    program_->body->run({buffers_.data(), workspace_, messages_});
  });
  exchange_aliases();
  device_->synchronize();
  StepTiming timing;
  timing.step_ms = milliseconds_since(begin);
  device_->read_times();
  timing.comm_ms = total(&CollectiveRecord::milliseconds) - comm_before;
  timing.exposed_ms = total(&CollectiveRecord::exposed_ms) - exposed_before;
  timing.compute_ms = timing.step_ms - timing.exposed_ms;
  return timing;
}

std::span<const std::byte> Executor::result_local(int index) {
  const int argument = argument_of_result_[static_cast<size_t>(index)];
  if (argument >= 0) return argument_local(argument);
  const plan::Result& result = plan_.results(index);
  return local(result.buffer(), result.placement());
}

std::span<const std::byte> Executor::argument_local(int index) {
  const plan::Argument& argument = plan_.arguments(index);
  return local(argument.buffer(), argument.placement());
}

std::span<const std::byte> Executor::local(int32_t buffer, const plan::Placement& placement) {
  const std::byte* data = buffers_[static_cast<size_t>(buffer)];
  const auto bytes = static_cast<size_t>(local_bytes(placement));
  if (device_->shares_host_memory()) return {data, bytes};
  host_copy_.resize(bytes);
  device_->copy_out(host_copy_.data(), data, local_bytes(placement));
  return host_copy_;
}

double Executor::result_scalar(int index) {
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
    record.milliseconds = record.exposed_ms = 0;
  }
}

}  // namespace spmd
