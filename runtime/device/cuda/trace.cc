#include "runtime/device/cuda/trace.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/plan/traffic.h"
#include "support/error.h"
#include "support/printable.h"

namespace spmd::cuda {

bool Trace::is_wanted() {
  const char* value = std::getenv("SPMD_CUDA_TRACE");
  return value != nullptr && std::string_view(value) != "0";
}

class Trace::TracedKernel : public Kernel {
 public:
  TracedKernel(const Gpu& gpu, Record& record, KernelPtr kernel)
      : gpu_(gpu), record_(record), kernel_(std::move(kernel)) {}

  void run(const RunContext& context) override {
    const auto begin = std::chrono::steady_clock::now();
    try {
      kernel_->run(context);
      gpu_.synchronize();
    } catch (const UserError& error) {
      throw UserError(record_.op, fmt::format("{}: {}", record_.kind, error.what()));
    }
    ++record_.calls;
    record_.milliseconds +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  const Gpu& gpu_;
  Record& record_;
  KernelPtr kernel_;
};

KernelPtr Trace::wrap(const plan::Plan& plan, const plan::Step& step, bool on_host,
                      KernelPtr kernel) {
  Record& record = records_.emplace_back();
  record.kind = fmt::format("{}{}", plan::kind_name(step), on_host ? " on the host" : "");
  record.kernel =
      step.kernel() > 0 ? plan.kernels().kernels(step.kernel() - 1).name() : record.kind;
  record.bytes = plan::bytes_moved(plan, step);
  record.op = step.op();
  return std::make_unique<TracedKernel>(gpu_, record, std::move(kernel));
}

// One line for each kernel, the slowest first, with the step that it was first made for.
void Trace::print_kernels() const {
  struct Kernel {
    int64_t calls = 0;
    double milliseconds = 0, bytes = 0;  // of all calls
    std::string_view first;
  };
  std::map<std::string_view, Kernel> kernels;
  for (const Record& record : records_) {
    Kernel& kernel = kernels[record.kernel];
    if (kernel.calls == 0) kernel.first = record.op;
    kernel.calls += record.calls;
    kernel.milliseconds += record.milliseconds;
    kernel.bytes += static_cast<double>(record.calls) * static_cast<double>(record.bytes);
  }
  std::vector<std::pair<std::string_view, Kernel>> order(kernels.begin(), kernels.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.milliseconds > b.second.milliseconds;
  });
  fmt::print(stderr, "{:>13} {:>14} {:>12} {:>8}  kernel\n", "time", "", "moved", "GB/s");
  for (const auto& [name, kernel] : order)
    fmt::print(stderr, "{:>10.3f} ms {:>8} calls {:>9.3f} GB {:>8.0f}  {} {}\n",
               kernel.milliseconds, kernel.calls, kernel.bytes / 1e9,
               kernel.milliseconds > 0 ? kernel.bytes / 1e6 / kernel.milliseconds : 0.0, name,
               printable(std::string(kernel.first)));
}

Trace::~Trace() {
  constexpr size_t kShown = 20;
  std::map<std::string, Record> kinds;
  for (const Record& record : records_) {
    Record& kind = kinds[record.kind];
    kind.calls += record.calls;
    kind.milliseconds += record.milliseconds;
  }
  for (const auto& [name, kind] : kinds)
    fmt::print(stderr, "{:>10.3f} ms {:>8} calls  {}\n", kind.milliseconds, kind.calls, name);
  print_kernels();
  std::sort(records_.begin(), records_.end(),
            [](const Record& a, const Record& b) { return a.milliseconds > b.milliseconds; });
  for (size_t i = 0; i < std::min(kShown, records_.size()); ++i)
    fmt::print(stderr, "{:>10.3f} ms {:>8} calls  {} {}\n", records_[i].milliseconds,
               records_[i].calls, records_[i].kind, printable(records_[i].op));
}

}  // namespace spmd::cuda
