#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>

#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/pass.h"
#include "passes/registry.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

size_t live_ops(const Module& module) {
  size_t count = 0;
  for (const auto& fn : module.functions()) count += fn->num_live_ops();
  return count;
}

// Numbered text files and manifest.json in one folder. A stage that changed nothing has no file of
// its own: the manifest names the file that still holds it.
class Dump {
 public:
  explicit Dump(const std::string& folder) : folder_(folder) {
    if (folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) {
      throw UserError(folder, fmt::format("cannot create the dump folder: {}", error.message()),
                      "choose a folder that can be written");
    }
  }

  void stage(const Module& module, const PassTiming& timing) {
    if (folder_.empty()) return;
    if (timing.changed || file_.empty()) {
      file_ = fmt::format("{:03}-{}.mlir", index_, timing.pass);
      write(file_, print_stablehlo(module));
    }
    manifest_ += fmt::format(
        "{}\n  {{\"index\": {}, \"pass\": \"{}\", \"changed\": {}, \"ms\": {:.3f}, \"ops\": {}, "
        "\"file\": \"{}\"}}",
        index_ == 0 ? "" : ",", index_, timing.pass, timing.changed, timing.milliseconds,
        timing.ops, file_);
    ++index_;
    // Written after every stage, so that it is there when a later pass fails.
    write("manifest.json", "[" + manifest_ + "\n]\n");
  }

 private:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush()) {
      throw UserError(path.string(), "cannot write the dump",
                      "choose a folder that can be written");
    }
  }

  std::string folder_, file_, manifest_;
  size_t index_ = 0;
};

size_t text_hash(const Module& module) { return std::hash<std::string>{}(print_stablehlo(module)); }

void verify_after(const Pass& pass, const Module& module) {
  try {
    verify(module);
  } catch (const UserError& error) {
    throw InternalError(fmt::format("after pass {}: {}", pass.name, error.what()));
  }
}

PassTiming run_pass(Module& module, const Pass& pass, PassContext& context,
                    const PipelineOptions& options) {
  using Clock = std::chrono::steady_clock;
  const size_t before = options.check_changed ? text_hash(module) : 0;
  const Clock::time_point start = Clock::now();
  PassTiming timing{.pass = pass.name};
  timing.changed = pass.run(module, context);
  timing.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  timing.ops = live_ops(module);
  if (options.check_changed && timing.changed != (text_hash(module) != before)) {
    throw InternalError(fmt::format("pass {} says that it {} the module, and it {}", pass.name,
                                    timing.changed ? "changed" : "did not change",
                                    timing.changed ? "did not" : "did"));
  }
  if (context.options.verify_each && timing.changed) verify_after(pass, module);
  return timing;
}

}  // namespace

void PassContext::remark(std::string_view pass, const Op& op, std::string text) {
  remarks.push_back({std::string(pass), op.location ? op.location->to_string() : "unknown location",
                     std::move(text)});
}

void check_pass_names(const std::vector<Pass>& passes, const PipelineOptions& options) {
  std::vector<std::string> known;
  for (const Pass& pass : passes) known.push_back(pass.name);
  const auto check = [&](const std::string& name, const char* place) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const auto candidate = nearest(name, known);
    throw UserError(place, fmt::format("there is no pass '{}' among those chosen", name),
                    candidate ? fmt::format("did you mean '{}'?", *candidate)
                              : fmt::format("the passes are: {}", fmt::join(known, ", ")));
  };
  if (!options.stop_after.empty()) check(options.stop_after, "stop_after");
  for (const std::string& name : options.skip) check(name, "skip");
}

std::vector<PassTiming> run_passes(Module& module, const std::vector<Pass>& passes,
                                   PassContext& context, const PipelineOptions& options) {
  check_pass_names(passes, options);
  Dump dump(options.dump_dir);
  dump.stage(module, {.pass = "input", .ops = live_ops(module)});
  std::vector<PassTiming> timings;
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass& pass = passes[i];
    const bool skipped =
        std::find(options.skip.begin(), options.skip.end(), pass.name) != options.skip.end();
    if (!skipped) {
      if (options.on_pass) options.on_pass(pass, i, passes.size());
      timings.push_back(run_pass(module, pass, context, options));
      dump.stage(module, timings.back());
      if (options.after_pass) options.after_pass(pass, module);
    }
    if (pass.name == options.stop_after) break;
  }
  return timings;
}

}  // namespace spmd
