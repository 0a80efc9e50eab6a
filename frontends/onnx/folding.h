// Values that are known when the program is compiled.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace spmd::onnx {

// Evaluates what depends on constants alone. Values that need a parameter count as known too, as
// the model's file has them: programs ask for the value of what decides shapes only.
class Folding {
 public:
  // `parameter` reads the value of an argument of main, or gives nullopt when the model has none.
  using ReadParameter = std::function<std::optional<Literal>(ValueId)>;
  Folding(Function& fn, ReadParameter parameter) : fn_(fn), parameter_(std::move(parameter)) {}

  // Null when the value depends on graph inputs, on a loop's trip or on too much computation. Stays
  // valid.
  const Literal* known(ValueId value);
  // Whether it is a constant of the module as it stands.
  const Literal* constant(ValueId value) const;
  // The arguments of main without a known value on which `value` depends.
  std::vector<ValueId> unknown_arguments(ValueId value);

 private:
  struct Slice {
    std::set<OpId> ops;  // in order of creation, which is an order of computation
    std::set<ValueId> parameters;
    bool computable = true;
    double work = 0;
  };
  Slice slice_of(ValueId value) const;
  Literal evaluate_slice(const Slice& slice, ValueId value);

  Function& fn_;
  ReadParameter parameter_;
  std::unordered_map<ValueId, Literal> known_;
};

// Removes ops whose results nothing uses, and arguments of main that nothing uses from argument
// `first_removable` on.
void remove_unused(Function& fn, size_t first_removable);

}  // namespace spmd::onnx
