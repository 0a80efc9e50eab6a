// What a run says while it trains: a bar or lines on standard output, and metrics.jsonl.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "launcher/config.h"
#include "launcher/progress.h"
#include "runtime/training_loop.h"

namespace spmd {

class ProgressLog {
 public:
  // Opens the metrics file, if there is to be one. Throws UserError.
  ProgressLog(const RunConfig& config, std::vector<std::string> metrics, int64_t steps,
              int64_t batch_size);

  // After a step: writes its metrics, and says how far the run is. The first metric that is not
  // finite is remarked on standard error. Throws OutputError.
  void step(const StepReport& report);
  void finish();

 private:
  void warn_of_nonsense(const StepReport& report);
  void open(const std::string& path);
  std::string rates() const;

  std::vector<std::string> metrics_;
  int64_t steps_, batch_size_, every_;
  int64_t done_ = 0;
  bool quiet_;
  bool warned_ = false;
  Terminal terminal_;
  ProgressBar bar_;
  struct Jsonl {
    std::string path;
    std::ofstream file;
  };
  std::vector<Jsonl> files_;
};

}  // namespace spmd
