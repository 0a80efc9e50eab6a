#include "frontends/onnx/importer.h"

#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/types.h"
#include "ir/axis_factors.h"
#include "ir/verifier.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr int64_t kMaxNodes = int64_t{1} << 22;  // functions inlined and loops unrolled
// Results of constants with at most so many elements become constants at once.
constexpr int64_t kMaxFolded = 1024;
// Integer tensors with more elements are parameters: tables and quantised weights.
constexpr int64_t kMaxIntegerConstant = 1024;

// A UserError that says where it happened.
class PlacedError : public UserError {
 public:
  using UserError::UserError;
};

bool accepts(Accepts accepted, DType dtype) {
  switch (accepted) {
    case Accepts::kFloats:
      return is_float(dtype);
    case Accepts::kNumbers:
      return is_float(dtype) || is_integer(dtype) || is_complex(dtype);
    case Accepts::kIntegers:
      return is_integer(dtype);
    case Accepts::kBooleans:
      return dtype == DType::kBool;
    default:
      return true;
  }
}

std::string_view words_for(Accepts accepted) {
  switch (accepted) {
    case Accepts::kFloats:
      return "floats";
    case Accepts::kNumbers:
      return "numbers";
    case Accepts::kIntegers:
      return "integers";
    default:
      return "booleans";
  }
}

}  // namespace

Importer::Importer(const ModelProto& model, std::string source, const ImportOptions& options)
    : model_(model),
      source_(std::move(source)),
      options_(options),
      fn_(module_.function(module_.add_function("main"))),
      writer_(fn_),
      tensors_(source_, options.folder),
      folding_(fn_,
               [this](ValueId argument) -> std::optional<Literal> {
                 const auto found = parameters_.find(argument);
                 if (found == parameters_.end()) return std::nullopt;
                 return tensors_.read(*found->second, source_);
               }),
      functions_(model),
      shardings_(model, source_),
      dims_(options.dims) {}

Module Importer::run() {
  check_version();
  check_supported(model_, functions_, source_);
  module_.source = source_;
  module_.mesh = shardings_.mesh();
  if (!model_.graph().name().empty()) module_.name = model_.graph().name();
  Scope scope;
  add_inputs(scope);
  const size_t num_inputs = fn_.arguments().size();
  add_initializers(model_.graph(), scope);
  Frame frame;
  frame.opsets = opsets_of(model_.opset_import());
  emit_nodes(model_.graph().node(), scope, frame);
  set_results(scope);
  remove_unused(fn_, num_inputs);
  choose_axis_factors(module_);
  verify(module_);
  return std::move(module_);
}

void Importer::check_version() const {
  for (const auto& [domain, version] : opsets_of(model_.opset_import())) {
    if (domain.empty() && version > kNewestOpset) {
      throw UserError(
          source_,
          fmt::format("uses opset {}, the newest that is known is {}", version, kNewestOpset),
          fmt::format("export the model for opset {} or earlier", kNewestOpset));
    }
  }
}

void Importer::add_initializers(const GraphProto& graph, Scope& scope) {
  for (const TensorProto& tensor : graph.initializer()) add_initializer(tensor, scope);
  for (const SparseTensorProto& tensor : graph.sparse_initializer()) {
    const std::string& name = tensor.values().name();
    const std::string place = fmt::format("{}: initializer \"{}\"", source_, name);
    scope.redefine(name, Value::of(constant(writer_, tensors_.read(tensor, place)).id()));
  }
}

void Importer::add_initializer(const TensorProto& tensor, Scope& scope) {
  const auto read = initializers_.find(&tensor);
  if (read != initializers_.end()) return scope.redefine(tensor.name(), read->second);
  const std::string place = fmt::format("{}: initializer \"{}\"", source_, tensor.name());
  Value value;
  if (tensor.data_type() == TensorProto::STRING) {
    value = Value::of(tensors_.read_strings(tensor, place));
  } else {
    const TensorType type = tensors_.type_of(tensor, place);
    const bool is_parameter = is_float(type.dtype) ||
                              (is_integer(type.dtype) && type.num_elements() > kMaxIntegerConstant);
    if (is_parameter) {
      value = Value::of(fn_.add_block_argument(fn_.body(), type));
      fn_.argument_info.push_back({.name = tensor.name()});
      parameters_[value.tensor] = &tensor;
    } else {
      value = Value::of(constant(writer_, tensors_.read(tensor, place)).id());
    }
    // A constant of a subgraph is emitted where the subgraph is, each time.
    if (is_parameter) initializers_[&tensor] = value;
  }
  scope.redefine(tensor.name(), std::move(value));
}

std::vector<std::string> Importer::inputs_of(ValueId value) {
  std::vector<std::string> names;
  for (ValueId argument : folding_.unknown_arguments(value)) {
    if (fn_.value(argument).block != fn_.body()) continue;
    names.push_back(fn_.argument_info[fn_.value(argument).index].name);
  }
  return names;
}

// ---- nodes

void Importer::emit_nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope,
                          const Frame& frame) {
  for (const NodeProto& node : nodes) emit_node(node, scope, frame);
}

void Importer::emit_node(const NodeProto& proto, Scope& scope, const Frame& frame) {
  const auto opset = frame.opsets.find(domain_of(proto.domain()));
  Node node(*this, proto, scope, frame, opset == frame.opsets.end() ? 1 : opset->second);
  if (++num_nodes_ > kMaxNodes) {
    node.fail(fmt::format("more than {} nodes after functions were inlined and loops unrolled",
                          kMaxNodes),
              "export the model with fewer");
  }
  writer_.set_location(std::make_shared<const Location>(
      Location{.name = proto.name().empty() ? proto.op_type() : proto.name()}));
  try {
    place_inputs(node, proto, scope);
    if (const FunctionProto* function = functions_.find(proto)) {
      const std::vector<Value> outputs = emit_function(*function, node);
      for (size_t i = 0; i < outputs.size(); ++i) node.set(static_cast<int>(i), outputs[i]);
      return place_outputs(node, proto, scope);
    }
    const OpHandler* handler = find_op(domain_of(proto.domain()), proto.op_type(), node.opset());
    if (handler == nullptr) {
      node.unsupported(fmt::format("version {} of the op", node.opset()));
    }
    if (handler->accepts != Accepts::kAnything && handler->accepts != Accepts::kTensors) {
      const DType dtype = node.in(0).dtype();
      if (!accepts(handler->accepts, dtype)) {
        node.fail(fmt::format("its {} has element type {}, expected {}", node.input_name(0),
                              name_of(dtype), words_for(handler->accepts)));
      }
    }
    handler->emit(node);
    fold_outputs(node, proto, scope);
    place_outputs(node, proto, scope);
  } catch (const PlacedError&) {
    throw;
  } catch (const UnknownValue&) {
    throw;
  } catch (const UserError& error) {
    const std::string text = error.what();
    if (text.starts_with(source_)) throw;
    throw PlacedError(node.place(), text);
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    if (!proto.output(i).empty() && scope.find(proto.output(i)) == nullptr) {
      scope.define(proto.output(i), {});  // an optional output of which there is none
    }
  }
}

// An input that is to lie elsewhere than the tensor does so far is constrained for this node and
// those after it.
void Importer::place_inputs(Node& node, const NodeProto& proto, Scope& scope) {
  if (proto.device_configurations_size() == 0) return;
  for (const std::string& name : proto.input()) {
    const Value* value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr || value->kind != Value::Kind::kTensor) continue;
    const ValueId tensor = value->tensor;
    const ShardingRef wanted = shardings_.find(proto, name, fn_.type(tensor).rank(), node.place());
    if (!wanted) continue;
    if (!fn_.value(tensor).sharding) {
      fn_.value(tensor).sharding = wanted;
    } else if (!same_placement(*fn_.value(tensor).sharding, *wanted)) {
      scope.redefine(name, Value::of(writer_.builder().value(OpCode::kShardingConstraint, {tensor},
                                                             ReshardAttrs{*wanted})));
    }
  }
}

void Importer::place_outputs(Node& node, const NodeProto& proto, const Scope& scope) {
  if (proto.device_configurations_size() == 0) return;
  for (const std::string& name : proto.output()) {
    const Value* value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr || value->kind != Value::Kind::kTensor) continue;
    const ShardingRef wanted =
        shardings_.find(proto, name, fn_.type(value->tensor).rank(), node.place());
    if (wanted) fn_.value(value->tensor).sharding = wanted;
  }
}

// Small results of constants become constants, so that what computes with shapes vanishes.
void Importer::fold_outputs(Node& node, const NodeProto& proto, Scope& scope) {
  for (const AttributeProto& attribute : proto.attribute()) {
    if (attribute.has_g()) return;  // its nodes are folded one by one
  }
  for (int i = 0; i < proto.input_size(); ++i) {
    const Value value = node.value(i);
    if (value.kind == Value::Kind::kAbsent || value.kind == Value::Kind::kStrings) continue;
    if (value.kind != Value::Kind::kTensor || folding_.constant(value.tensor) == nullptr) return;
  }
  for (const std::string& output : proto.output()) {
    const Value* value = output.empty() ? nullptr : scope.find(output);
    if (value == nullptr || value->kind != Value::Kind::kTensor) continue;
    if (folding_.constant(value->tensor) != nullptr) continue;
    if (fn_.value(value->tensor).def == OpId::kNone) continue;
    if (fn_.type(value->tensor).num_elements() > kMaxFolded) continue;
    if (const Literal* literal = folding_.known(value->tensor)) {
      scope.redefine(output, Value::of(constant(writer_, *literal).id()));
    }
  }
}

std::optional<std::string> Importer::attempt(const std::function<void()>& emit) {
  const size_t blocks = writer_.depth();
  const int depth = depth_;
  try {
    emit();
    return std::nullopt;
  } catch (const UserError& error) {
    writer_.unwind(blocks);
    depth_ = depth;
    return error.what();
  }
}

Expr Importer::random_bits(const Dims& shape) {
  if (writer_.depth() > 1) {
    throw UserError({}, "random numbers inside a loop or branch are not supported",
                    "draw them outside");
  }
  if (!random_state_) {
    random_state_ = {writer_, fn_.add_block_argument(fn_.body(), {DType::kU64, {2}})};
    fn_.argument_info.push_back({.name = kRandomState});
  }
  const OpId op = writer_.builder().create(OpCode::kRngBitGenerator, {random_state_.id()},
                                           {random_state_.type(), TensorType{DType::kU32, shape}},
                                           RngBitGeneratorAttrs{RngAlgorithm::kThreeFry});
  random_state_ = {writer_, fn_.op(op).results[0]};
  return {writer_, fn_.op(op).results[1]};
}

void Importer::set_results(const Scope& scope) {
  std::vector<ValueId> results;
  for (const ValueInfoProto& output : model_.graph().output()) {
    const std::string place = fmt::format("{}: output \"{}\"", source_, output.name());
    const Value* value = scope.find(output.name());
    if (value == nullptr) {
      throw UserError(place, "is defined nowhere", "the file is damaged: export it again");
    }
    const size_t first = results.size();
    append_tensors(*value, place, results);
    const bool single = value->kind == Value::Kind::kTensor;
    for (size_t i = first; i < results.size(); ++i) {
      fn_.result_info.push_back(
          {.name = single ? output.name() : fmt::format("{}[{}]", output.name(), i - first)});
    }
  }
  if (random_state_) {  // what is left of it replaces it in the next step
    for (ArgumentInfo& info : fn_.argument_info) {
      if (info.name == kRandomState) info.aliased_result = static_cast<int>(results.size());
    }
    fn_.result_info.push_back({.name = kRandomState});
    results.push_back(random_state_.id());
  }
  writer_.set_location(nullptr);
  writer_.builder().return_op(std::move(results));
}

}  // namespace spmd::onnx
