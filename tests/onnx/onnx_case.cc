#include "tests/onnx/onnx_case.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "frontends/onnx/import.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/parameters.h"
#include "frontends/onnx/tensors.h"
#include "frontends/onnx/types.h"
#include "tests/support/exported_program.h"

namespace spmd::testing {
namespace {

namespace fs = std::filesystem;

template <typename Proto>
Proto parsed(const fs::path& path) {
  Proto proto;
  if (!proto.ParseFromString(read_file(path.string()))) {
    throw std::runtime_error(path.string() + " does not parse");
  }
  return proto;
}

// Reads the inputs and outputs of one set of data.
class DataSet {
 public:
  DataSet(const onnx::ModelProto& model, const fs::path& folder, const std::string& bytes)
      : model_(model), folder_(folder), bytes_(bytes), tensors_("data", "") {
    options_.folder = folder.parent_path().string();
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      initialized_.push_back(tensor.name());
    }
  }

  OnnxRun load() {
    int number = 0;
    for (const onnx::ValueInfoProto& input : model_.graph().input()) {
      if (contains(initialized_, input.name())) continue;
      const fs::path path = folder_ / ("input_" + std::to_string(number++) + ".pb");
      if (fs::exists(path)) add_input(input.name(), input.type(), path);
    }
    OnnxRun run;
    run.module = compiled(run.fixed_inputs);
    set_arguments(run);
    for (int i = 0; i < model_.graph().output_size(); ++i) {
      const fs::path path = folder_ / ("output_" + std::to_string(i) + ".pb");
      if (fs::exists(path)) add_output(model_.graph().output(i).type(), path, run.expected);
    }
    return run;
  }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  // Some cases store bfloat16 as the integers of the same bits. Some have another shape than their
  // model says, where only the type counts (CastLike's second operand).
  Literal literal_of(const onnx::TensorProto& proto, const onnx::TypeProto::Tensor& type) {
    Literal literal = tensors_.read(proto, "data");
    if (type.elem_type() == onnx::TensorProto::BFLOAT16 && literal.type().dtype == DType::kU16) {
      const auto* bytes = literal.data();
      literal =
          Literal(literal.type().with_dtype(DType::kBF16), {bytes, bytes + literal.stored_bytes()});
    }
    Dims shape;
    for (const auto& dim : type.shape().dim()) shape.push_back(dim.dim_value());
    if (!type.has_shape() || shape.size() == literal.type().shape.size()) return literal;
    const TensorType declared = literal.type().with_shape(shape);
    if (declared.num_elements() == literal.type().num_elements()) return literal.reshaped(shape);
    return Literal::splat(declared, static_cast<const void*>(literal.data()));
  }

  void add_tensor(const std::string& name, const onnx::TensorProto& proto,
                  const onnx::TypeProto::Tensor& type) {
    if (proto.data_type() == onnx::TensorProto::STRING) {
      options_.strings[name] = tensors_.read_strings(proto, "data");
      return;
    }
    values_[name] = literal_of(proto, type);
    options_.shapes[name] = values_[name].type().shape;
  }

  void add_sequence(const std::string& name, const onnx::SequenceProto& proto) {
    options_.dims[name + "[]"] = proto.tensor_values_size();
    for (int i = 0; i < proto.tensor_values_size(); ++i) {
      add_tensor(name + "[" + std::to_string(i) + "]", proto.tensor_values(i), {});
    }
  }

  void add_input(const std::string& name, const onnx::TypeProto& type, const fs::path& path) {
    if (type.has_sequence_type()) return add_sequence(name, parsed<onnx::SequenceProto>(path));
    if (!type.has_optional_type()) {
      return add_tensor(name, parsed<onnx::TensorProto>(path), type.tensor_type());
    }
    const auto proto = parsed<onnx::OptionalProto>(path);
    options_.dims[name + "?"] = proto.has_tensor_value() || proto.has_sequence_value();
    if (proto.has_tensor_value()) add_tensor(name, proto.tensor_value(), {});
    if (proto.has_sequence_value()) add_sequence(name, proto.sequence_value());
  }

  // Inputs that decide a shape are fixed, one after another as the importer asks for them.
  Module compiled(std::vector<std::string>& fixed) {
    while (true) {
      try {
        return import_onnx(bytes_, "model", options_);
      } catch (const UnknownValue& unknown) {
        bool any = false;
        for (const std::string& name : unknown.inputs()) {
          if (!values_.contains(name) || options_.inputs.contains(name)) continue;
          options_.inputs[name] = values_.at(name);
          options_.shapes.erase(name);
          fixed.push_back(name);
          any = true;
        }
        if (!any) throw;
      }
    }
  }

  void set_arguments(OnnxRun& run) {
    OnnxParameters parameters(bytes_, "model", options_.folder);
    for (const ArgumentInfo& info : run.module.main().argument_info) {
      const auto value = values_.find(info.name);
      if (value != values_.end()) {
        run.arguments.push_back(value->second);
        continue;
      }
      const OnnxParameters::View view = parameters.get(info.name);
      run.arguments.emplace_back(view.type,
                                 std::vector<std::byte>(view.bytes.begin(), view.bytes.end()));
    }
  }

  void add_output(const onnx::TypeProto& type, const fs::path& path, std::vector<Literal>& out) {
    const auto add = [&](const onnx::TensorProto& proto, const onnx::TypeProto::Tensor& tensor) {
      out.push_back(literal_of(proto, tensor));
    };
    const auto add_all = [&](const onnx::SequenceProto& sequence) {
      for (const onnx::TensorProto& proto : sequence.tensor_values()) add(proto, {});
    };
    if (type.has_sequence_type()) return add_all(parsed<onnx::SequenceProto>(path));
    if (!type.has_optional_type()) {
      return add(parsed<onnx::TensorProto>(path), type.tensor_type());
    }
    const auto proto = parsed<onnx::OptionalProto>(path);
    if (proto.has_tensor_value()) add(proto.tensor_value(), {});
    if (proto.has_sequence_value()) add_all(proto.sequence_value());
  }

  const onnx::ModelProto& model_;
  const fs::path folder_;
  const std::string& bytes_;
  onnx::Tensors tensors_;
  ImportOptions options_;
  std::vector<std::string> initialized_;
  std::map<std::string, Literal> values_;
};

double relative_tolerance(DType dtype) {
  if (dtype == DType::kBF16) return 1e-2;
  return is_float(dtype) && byte_size(dtype) < 4 ? 2e-3 : 1e-3;
}

double largest(const Literal& x) {
  double value = 0;
  for (int64_t i = 0; i < x.type().num_elements(); ++i) {
    const double magnitude = std::abs(x.as_double(i));
    if (std::isfinite(magnitude)) value = std::max(value, magnitude);
  }
  return value;
}

// Those below `root`, sorted by name.
void add_cases(const std::string& group, const fs::path& root, std::vector<OnnxCase>& cases) {
  const size_t first = cases.size();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    cases.push_back({group, entry.path().filename().string(), entry.path()});
  }
  std::sort(cases.begin() + static_cast<std::ptrdiff_t>(first), cases.end(),
            [](const OnnxCase& a, const OnnxCase& b) { return a.name < b.name; });
}

}  // namespace

std::vector<OnnxCase> onnx_cases() {
  const char* given = std::getenv("SPMD_ONNX_CASES");
  const fs::path root = given != nullptr ? given : "/usr/share/libonnx-testdata/data";
  std::vector<OnnxCase> cases;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator"}) {
    add_cases(group, root / group, cases);
  }
  return cases;
}

std::vector<OnnxCase> own_onnx_cases() {
  std::vector<OnnxCase> cases;
  add_cases("own", fs::path(SPMD_SOURCE_DIR) / "tests/data/onnx/node", cases);
  return cases;
}

std::vector<OnnxRun> load_onnx_case(const OnnxCase& test_case) {
  const std::string bytes = read_file((test_case.folder / "model.onnx").string());
  const auto model = parsed<onnx::ModelProto>(test_case.folder / "model.onnx");
  std::vector<OnnxRun> runs;
  for (int i = 0;; ++i) {
    const fs::path folder = test_case.folder / ("test_data_set_" + std::to_string(i));
    if (!fs::exists(folder)) return runs;
    runs.push_back(DataSet(model, folder, bytes).load());
  }
}

std::string onnx_difference(const std::vector<Literal>& found, const std::vector<Literal>& expected,
                            double slack) {
  if (found.size() < expected.size()) {
    return std::to_string(found.size()) + " results, expected " + std::to_string(expected.size());
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const Literal &a = found[i], &b = expected[i];
    const std::string result = "result " + std::to_string(i);
    if (a.type() != b.type()) {
      return result + " is " + to_string(a.type()) + ", expected " + to_string(b.type());
    }
    const double relative = relative_tolerance(b.type().dtype);
    const double absolute = 1e-7 + slack * (slack > 0 ? largest(b) : 0);
    for (int64_t e = 0; e < b.type().num_elements(); ++e) {
      const double x = a.as_double(e), y = b.as_double(e);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      if (std::abs(x - y) <= absolute + relative * std::abs(y)) continue;
      return result + " element " + std::to_string(e) + " is " + std::to_string(x) + ", expected " +
             std::to_string(y);
    }
  }
  return {};
}

}  // namespace spmd::testing
