// The parameters that a model's own file has values for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/onnx/parameters.h"
#include "runtime/training_loop.h"

namespace spmd {

class ModelParameters {
 public:
  // Null when the file is no program with values of its own. Throws UserError.
  static std::unique_ptr<ModelParameters> read(const std::string& path);

  // Of the arguments of a plan of the program, by their names. Valid as long as the object.
  std::vector<InitialValue> values_for(const plan::Plan& plan);

 private:
  ModelParameters(const std::string& path, std::unique_ptr<OnnxParameters> parameters)
      : path_(path), parameters_(std::move(parameters)) {}

  std::string path_;
  std::unique_ptr<OnnxParameters> parameters_;
};

}  // namespace spmd
