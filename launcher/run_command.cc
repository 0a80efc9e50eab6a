#include "launcher/run_command.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "launcher/agreement.h"
#include "launcher/cache_command.h"
#include "launcher/expected_values.h"
#include "launcher/ignored_settings.h"
#include "launcher/inputs.h"
#include "launcher/job.h"
#include "launcher/metrics.h"
#include "launcher/missing_state.h"
#include "launcher/model_parameters.h"
#include "launcher/output_file.h"
#include "launcher/progress_log.h"
#include "launcher/recorded_values.h"
#include "launcher/report.h"
#include "launcher/run_notes.h"
#include "launcher/same_work.h"
#include "runtime/io/mapped_file.h"
#include "support/error.h"
#include "support/file_cache.h"
#include "support/printable.h"
#include "support/remedy.h"
#include "support/strings.h"

namespace spmd {
namespace {

// One rank's side of a compiled program's run.
class Session {
 public:
  Session(comm::Communicator& communicator, const CommandLine& line, const Job& job,
          const DevicePlace& place)
      : communicator_(communicator), line_(line), job_(job), place_(place) {}

  void run() {
    prepare();
    if (is_root()) announce();
    train();
    write_state();
    compare();
    report();
    if (wrong_checks_ > 0) {
      throw Failed(kCheckFailed,
                   fmt::format("{}: {} of the program's {} checks failed\n"
                               "  spmd-opt --evaluate tells whether they fail on one device too",
                               line_.model, wrong_checks_, loop_->checks().size()));
    }
    if (check_failed_) {
      throw Failed(
          kCheckFailed,
          fmt::format("{}: the run gave other numbers\n"
                      "  the table says which; --tolerances FILE allows larger differences",
                      reference()));
    }
  }

 private:
  bool is_root() const { return communicator_.rank() == 0; }

  // Whatever can be wrong is found here, before the first step.
  void prepare() {
    lap();
    const bool has_parameters = read_parameters_on_root();
    together(communicator_, kFileError, [&] {
      with_remedy("express the program without it, on the CPU", [&] {
        std::unique_ptr<Device> device = make_device(place_, communicator_, device_options());
        start_.device_ms = lap();
        executor_.emplace(job_.plan, communicator_, std::move(device));
        start_.memory_ms = lap() - executor_->preparation().load_ms;
      });
      loop_.emplace(*executor_);
      metrics_ = name_metrics(job_.plan, loop_->metrics());
      if (takes_recorded()) recorded_ = RecordedValues::read(line_.model, job_.plan);
      if (!is_root() && has_parameters) parameters_ = ModelParameters::read(line_.model);
      inputs_.emplace(
          job_.plan, job_.config, job_.config.init.has_value(), recorded_ ? &*recorded_ : nullptr,
          parameters_ ? parameters_->values_for(job_.plan) : std::vector<InitialValue>());
      TrainingRun run{.initial = inputs_->initial(), .batches = inputs_->batches()};
      run.steps = job_.config.steps.value_or(-1);
      run.on_step = [this](const StepReport& report) { return on_step(report); };
      lap();
      loop_->prepare(std::move(run));
      executor_->synchronize();
      start_.state_ms = lap();
    });
    on_root(communicator_, kFileError, [&] {
      if (job_.config.expected) {
        expected_.emplace(*job_.config.expected, job_.config.tolerances.value_or(""), job_.plan,
                          metrics_, loop_->steps());
      }
      log_.emplace(job_.config, metrics_, loop_->steps(), inputs_->batch_size());
    });
    on_root(communicator_, kUsageError, [&] {
      if (!job_.config.tolerances || job_.config.expected) return;
      if (!compares_recorded()) {
        throw UserError("--tolerances", "there is nothing to compare", "pass --check FILE too");
      }
      tolerances_ = read_tolerances(*job_.config.tolerances);
      check_tolerance_names(tolerances_, *job_.config.tolerances, recorded_->result_names(),
                            line_.model);
    });
    executor_->settle();
    start_.load_ms = executor_->preparation().load_ms;
    start_.connect_ms = executor_->preparation().connect_ms;
    start_.tune_ms = executor_->preparation().tune_ms;
    start_.compile_ms = job_.plan.statistics().compile_ms();
    history_.resize(metrics_.size());
  }

  DeviceOptions device_options() const {
    DeviceOptions options;
    options.tuning_cache = cache_folder(job_.config, kTuningEntries);
    const std::string graphs = job_.config.cuda_graphs.value_or("auto");
    options.graphs = graphs == "on"    ? StepRecording::kOn
                     : graphs == "off" ? StepRecording::kOff
                                       : StepRecording::kAuto;
    options.watchdog = watchdog();
    options.give_up = [](const std::string& message) {
      fmt::print(stderr, "spmd-run: {}\n", printable(message));
      std::fflush(nullptr);
      std::_Exit(kRunFailed);
    };
    return options;
  }

  // How long a wait within a step may last. Ranks that are threads live and die together; they are
  // only watched where that is asked for.
  std::chrono::milliseconds watchdog() const {
    constexpr double kSeconds = 20;
    const bool alone = communicator_.size() == 1;
    if (!job_.config.watchdog && (alone || (line_.ranks > 1 && !place_.cuda)))
      return communicator_.timeout();
    return std::chrono::milliseconds(
        std::max<int64_t>(std::llround(1e3 * job_.config.watchdog.value_or(kSeconds)), 1));
  }

  // Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - lap_).count();
    lap_ = now;
    return ms;
  }

  // Whether the model's file holds values. It need only be there for other ranks when it does.
  bool read_parameters_on_root() {
    on_root(communicator_, kFileError, [&] { parameters_ = ModelParameters::read(line_.model); });
    std::string answer = parameters_ ? "yes" : "no";
    communicator_.broadcast(answer, 0, "whether the model holds parameters");
    return answer == "yes";
  }

  // What the program's file records is used where the user says nothing else.
  bool takes_recorded() const {
    return !job_.config.state && !job_.config.batches && !job_.config.init.has_value();
  }
  // The recorded results are those of one step.
  bool compares_recorded() const {
    return !job_.config.expected && recorded_ && recorded_->has_results() && loop_->steps() == 1;
  }
  // What the run is compared with.
  const std::string& reference() const {
    return job_.config.expected ? *job_.config.expected : line_.model;
  }

  void announce() const {
    for (const std::string& warning : ignored_settings(job_.config, job_.was_compiled, place_.cuda))
      fmt::print(stderr, "spmd-run: warning: {}\n", warning);
    warn_of_missing_state();
    if (const auto text = describe_same_work(job_.plan))
      fmt::print(stderr, "spmd-run: warning: {}: {}\n", printable(job_.plan.source()),
                 printable(*text));
    const plan::Statistics& statistics = job_.plan.statistics();
    fmt::print("{} on {}, {} rank{}: compiled in {:.0f} ms, {} bytes sent a step and rank\n",
               printable(job_.plan.source()),
               executor_->mesh().num_axes() > 0 ? executor_->mesh().to_string() : "one device",
               communicator_.size(), communicator_.size() == 1 ? "" : "s", start_.from_program_ms(),
               with_thousands(statistics.bytes_sent_per_step()));
    if (place_.cuda || line_.verbose)
      fmt::print("{}\nmemory of a rank\n{}", to_string(start_), to_string(executor_->memory_use()));
    note(executor_->device().notes());
    if (!line_.verbose) note(notes_of_remarks(job_.remarks));
    if (auto moved = note_of_cores(place_.cpu)) note({*moved});
    note(inputs_->notes());
    if (auto unnamed = note_of_unnamed(job_.plan.source(), metrics_)) note({*unnamed});
    if (recorded_ && recorded_->has_results() && loop_->steps() > 1) {
      fmt::print(
          "note: {}: records the results of one step, which are not compared with those of {}\n",
          printable(job_.plan.source()), loop_->steps());
    }
    std::fflush(stdout);
  }

  static void note(const std::vector<std::string>& notes) {
    for (const std::string& text : notes) fmt::print("note: {}\n", printable(text));
  }

  void warn_of_missing_state() const {
    if (recorded_ || !loop_->checks().empty()) return;
    std::vector<int> advancing;
    for (const BatchValue& batch : inputs_->batches()) advancing.push_back(batch.argument);
    // A model with values of its own may be there to be applied only.
    const auto text = describe_missing_state(job_.plan, missing_state(job_.plan, advancing),
                                             parameters_ ? 1 : loop_->steps());
    if (text)
      fmt::print(stderr, "spmd-run: warning: {}: {}\n", printable(job_.plan.source()),
                 printable(*text));
  }

  // A failure in here is one rank's own: the others wait for it in a collective, or will.
  void train() {
    const std::chrono::milliseconds usual = communicator_.timeout();
    communicator_.set_timeout(watchdog());
    try {
      loop_->run();
    } catch (const OutputError&) {
      throw;
    } catch (const UserError& error) {
      const std::string text = error.what();
      if (communicator_.size() == 1 || text.rfind("rank ", 0) == 0) throw;
      throw UserError(fmt::format("rank {}", communicator_.rank()), text);
    }
    communicator_.set_timeout(usual);
    if (log_) log_->finish();
  }

  bool on_step(const StepReport& report) {
    for (size_t i = 0; i < history_.size(); ++i) history_[i].push_back(report.metrics[i]);
    timings_.push_back(report.timing);
    if (log_) log_->step(report);
    count_wrong_checks();
    return true;
  }

  // What the program checks of itself, in every step. All ranks hold the counts.
  void count_wrong_checks() {
    for (int result : loop_->checks()) {
      const double wrong = executor_->result_scalar(result);
      if (wrong == 0) continue;
      ++wrong_checks_;
      if (!is_root()) continue;
      fmt::print(stderr, "spmd-run: {}: {:.0f} element{} not as expected\n",
                 printable(job_.plan.results(result).name()), wrong, wrong == 1 ? " is" : "s are");
    }
  }

  void write_state() {
    if (!keeps_state(job_.plan)) {
      if (job_.config.out && is_root())
        fmt::print(stderr, "spmd-run: warning: --out: {} keeps no state: {} is not written\n",
                   printable(job_.plan.source()), printable(*job_.config.out));
      return;
    }
    if (!job_.config.out) {
      if (is_root() && !job_.config.expected)
        note({"the final state is not kept: --out FILE writes it"});
      return;
    }
    loop_->write_state(*job_.config.out, inputs_->state_names());
    if (is_root()) fmt::print("final state: {}\n", *job_.config.out);
  }

  void compare() {
    if (compares_recorded()) {
      compare_recorded();
    } else if (job_.config.expected) {
      compare_expected();
    }
  }

  void compare_recorded() {
    Comparison comparison;
    for (int i = 0; i < job_.plan.results_size(); ++i) {
      const std::optional<Tensor> value = executor_->gather_result(i);
      if (is_root()) recorded_->compare(i, value->view(), tolerances_, comparison);
    }
    conclude(std::move(comparison));
  }

  void compare_expected() {
    Comparison comparison;
    for (size_t i = 0; expected_ && i < history_.size(); ++i) {
      expected_->compare_metric_values(i, history_[i], comparison);
    }
    for (int i = 0; i < job_.plan.arguments_size(); ++i) {
      if (job_.plan.arguments(i).aliased_result() < 0) continue;
      const std::optional<Tensor> value = executor_->gather_argument(i);
      if (expected_) expected_->compare_argument(i, value->view(), comparison);
    }
    if (expected_) {
      comparison.state_skipped = expected_->state_skipped();
      comparison.without_expectation = expected_->without_expectation();
    }
    conclude(std::move(comparison));
  }

  // All ranks end with the exit code that rank 0 finds.
  void conclude(Comparison comparison) {
    std::string verdict = comparison.passed() ? "passed" : "failed";
    communicator_.broadcast(verdict, 0, "the outcome of --check");
    if (is_root()) fmt::print("{}", to_string(comparison, reference()));
    if (is_root() && !comparison.state_skipped.empty()) {
      fmt::print(stderr,
                 "spmd-run: warning: {}: the state was not compared: {}\n"
                 "  run as many steps to compare it\n",
                 reference(), comparison.state_skipped);
    }
    comparison_ = std::move(comparison);
    check_failed_ = verdict == "failed";
  }

  int64_t most_memory() {
    int64_t bytes = executor_->memory_bytes();
    communicator_.all_reduce(communicator_.world(), &bytes, &bytes, 1, comm::Element::kS64,
                             comm::Reduction::kMax, "peak memory");
    return bytes;
  }

  void report() {
    if (!job_.config.report) return;
    const int64_t memory = most_memory();
    on_root(communicator_, kFileError, [&] {
      nlohmann::ordered_json report = report_of_plan(job_.plan);
      add_start(report, start_);
      add_measurements(report, timings_, executor_->collectives(), memory);
      add_remarks(report, job_.remarks);
      if (comparison_) add_comparison(report, *comparison_);
      const std::string& folder = *job_.config.report;
      write_whole_file(folder + "/report.json", report_json(report));
      write_whole_file(folder + "/report.txt", report_text(report, true));
      fmt::print("{}report: {}/report.json\n", report_text(report, line_.verbose), folder);
    });
  }

  comm::Communicator& communicator_;
  const CommandLine& line_;
  const Job& job_;
  const DevicePlace& place_;
  std::unique_ptr<ModelParameters> parameters_;  // of the model's own file
  std::optional<RecordedValues> recorded_;
  std::optional<Inputs> inputs_;
  std::optional<Executor> executor_;
  std::optional<TrainingLoop> loop_;
  std::vector<std::string> metrics_;
  std::vector<std::vector<double>> history_;  // by metric, by step
  std::vector<StepTiming> timings_;
  StartTiming start_;
  std::chrono::steady_clock::time_point lap_{};
  bool check_failed_ = false;
  int64_t wrong_checks_ = 0;
  // On rank 0 only.
  std::optional<ExpectedValues> expected_;
  Tolerances tolerances_;  // for what the program's file records
  std::optional<ProgressLog> log_;
  std::optional<Comparison> comparison_;
};

DeviceChoice device_choice(const RunConfig& config) {
  const std::string kind = config.device.value_or("auto");
  return kind == "cpu"    ? DeviceChoice::kCpu
         : kind == "cuda" ? DeviceChoice::kCuda
                          : DeviceChoice::kAuto;
}

}  // namespace

void run_rank(comm::Communicator& communicator, const CommandLine& line,
              const LaunchEnvironment& launch) {
  RunConfig config = agree_on_config(communicator, line);
  if (line.print_config) {
    if (communicator.rank() == 0) fmt::print("{}", describe_config(config));
    return;
  }
  const DevicePlace place = find_device(device_choice(config), communicator,
                                        {.launched = !launch.alone(), .threads = config.threads});
  together(communicator, kUsageError, [&] { require_device(place); });
  const Job job = make_job(communicator, line, std::move(config), launch, place);
  Session(communicator, line, job, place).run();
}

}  // namespace spmd
