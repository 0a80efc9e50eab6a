// What the arguments of a program get: tensors of the state and batch files, or random numbers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/config.h"
#include "launcher/recorded_values.h"
#include "runtime/binding.h"
#include "runtime/io/tensor_source.h"
#include "runtime/placement.h"
#include "runtime/training_loop.h"

namespace spmd {

// Opens the files and binds their tensors to the plan's arguments by name. Owns what the bindings
// refer to.
class Inputs {
 public:
  // Without files and `random_init`, the arguments are those that the program's file records, if
  // `recorded` is not null; arguments that no state file gives a value take that of `parameters`,
  // which outlive the object's users. Throws UserError when a file cannot be read, a name fits
  // several tensors, or an argument has no value and `random_init` does not allow to draw one.
  Inputs(const plan::Plan& plan, const RunConfig& config, bool random_init,
         const RecordedValues* recorded = nullptr,
         const std::vector<InitialValue>& parameters = {});

  // To be handed to TrainingLoop::prepare, which checks types and shapes.
  const std::vector<InitialValue>& initial() const { return initial_; }
  const std::vector<BatchValue>& batches() const { return batches_; }
  // Names of the state file's tensors, by the argument that each was bound to.
  const std::map<int, std::string>& state_names() const { return state_names_; }
  // What the user should know of the bindings: tensors that nothing takes, and guesses by position.
  const std::vector<std::string>& notes() const { return notes_; }
  // Samples in one batch: the leading dimension of the first batch; 0 when there is none.
  int64_t batch_size() const;

 private:
  void bind_recorded(const RecordedValues& recorded);
  void bind_parameters(const std::vector<InitialValue>& parameters);
  void bind_state(const std::string& path);
  void bind_batches(const std::string& path);
  std::vector<int> takers_of_state() const;
  NameBinding bind(const std::vector<int>& arguments, TensorSource& source, size_t leading) const;
  void note_binding(const std::string& path, const NameBinding& binding,
                    const std::vector<int>& arguments, const std::vector<std::string>& tensors);
  void note_rivals(const std::vector<std::string>& unused, TensorSource& source, size_t leading);
  void draw_missing();
  void check_complete(const RunConfig& config) const;
  [[noreturn]] void report_missing(const std::vector<int>& arguments, const char* flag,
                                   const std::optional<std::string>& file,
                                   const std::vector<std::string>& unused) const;
  std::string remedy_for_inputs() const;
  std::vector<int> unbound() const;

  const plan::Plan& plan_;
  bool has_parameters_;
  std::vector<bool> bound_;
  std::vector<std::unique_ptr<TensorSource>> sources_;
  std::vector<std::string> unused_state_, unused_batches_;  // tensors that no argument takes
  std::map<int, std::vector<std::string>>
      rivals_;  // by argument: tensors among which none stands out
  std::map<int, std::string> state_names_;
  std::vector<std::string> notes_;
  std::vector<InitialValue> initial_;
  std::vector<BatchValue> batches_;
};

}  // namespace spmd
