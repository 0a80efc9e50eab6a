#include "launcher/model_parameters.h"

#include "codegen/views.h"
#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "launcher/compile_program.h"
#include "support/error.h"

namespace spmd {

std::unique_ptr<ModelParameters> ModelParameters::read(const std::string& path) {
  const std::string bytes = read_file(path);
  if (is_plan(bytes)) return nullptr;
  std::unique_ptr<OnnxParameters> parameters = read_parameters(bytes, path);
  if (!parameters) return nullptr;
  return std::unique_ptr<ModelParameters>(new ModelParameters(path, std::move(parameters)));
}

std::vector<InitialValue> ModelParameters::values_for(const plan::Plan& plan) {
  std::vector<InitialValue> values;
  for (int i = 0; i < plan.arguments_size(); ++i) {
    const std::string& name = plan.arguments(i).name();
    if (!parameters_->has(name)) continue;
    const OnnxParameters::View view = parameters_->get(name);
    values.push_back({i,
                      {codegen::to_plan(view.type.dtype), view.type.shape, view.bytes.data()},
                      fmt::format("{}: initializer {}", path_, name)});
  }
  return values;
}

}  // namespace spmd
