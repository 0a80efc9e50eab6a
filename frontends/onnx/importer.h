// Importer: turns the graphs of a model into main().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/folding.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/shardings.h"
#include "frontends/onnx/tensors.h"

namespace spmd::onnx {

// How deep graphs and functions may stand in each other.
inline constexpr int kMaxDepth = 64;

// The argument, and result, that holds what random numbers are drawn from.
inline constexpr const char* kRandomState = "onnx.random_state";

// What surrounds the nodes of the main graph or of a function's body.
struct Frame {
  std::map<std::string, int, std::less<>> opsets;  // by domain, "" is ai.onnx
  // In a function: attributes of the call, by name.
  std::map<std::string, const AttributeProto*, std::less<>> attributes;
  std::string function;  // its name, for messages; empty in the main graph
  int depth = 0;         // of calls
};

// "" for ai.onnx.
std::string_view domain_of(std::string_view domain);
std::map<std::string, int, std::less<>> opsets_of(
    const google::protobuf::RepeatedPtrField<OperatorSetIdProto>& imports);

class Functions {
 public:
  explicit Functions(const ModelProto& model);
  // Null when the node's op is no function of the model.
  const FunctionProto* find(const NodeProto& node) const;

 private:
  std::map<std::string, const FunctionProto*> functions_;  // "domain:name:overload"
};

class Importer {
 public:
  Importer(const ModelProto& model, std::string source, const ImportOptions& options);

  Module run();

  // ---- for Node and the ops

  const std::string& source() const { return source_; }
  Writer& writer() { return writer_; }
  Function& function() { return fn_; }
  Tensors& tensors() { return tensors_; }
  Folding& folding() { return folding_; }

  // Emits a subgraph with the given inputs at the writer's place; returns its outputs. Names of
  // `outer` are seen in it.
  std::vector<Value> emit_graph(const GraphProto& graph, const Scope& outer, const Frame& frame,
                                const std::vector<Value>& inputs);
  // The same of a function call.
  std::vector<Value> emit_function(const FunctionProto& function, Node& node);
  // Runs `emit`; when it throws a UserError, what it wrote is left without users, the writer is
  // back where it was, and the error's text is returned.
  std::optional<std::string> attempt(const std::function<void()>& emit);
  // Fresh random bits (u32) of a shape, from a state that main keeps from step to step.
  Expr random_bits(const Dims& shape);
  // Names of the graph inputs on which a value depends.
  std::vector<std::string> inputs_of(ValueId value);

 private:
  void check_version() const;
  void add_inputs(Scope& scope);
  Value add_input(const std::string& name, const TypeProto& type);
  Value add_tensor_input(const std::string& name, const TypeProto::Tensor& type);
  Value fixed_input(const std::string& name, const TypeProto::Tensor& type);
  Dims input_shape(const std::string& name, const TypeProto::Tensor& type);
  void bind_given_shapes();
  std::optional<int64_t> dim_size(const std::string& name);
  void check_options_used() const;
  void add_initializers(const GraphProto& graph, Scope& scope);
  void add_initializer(const TensorProto& tensor, Scope& scope);
  void fail_on_open_dims();

  void emit_nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope,
                  const Frame& frame);
  void emit_node(const NodeProto& proto, Scope& scope, const Frame& frame);
  void place_inputs(Node& node, const NodeProto& proto, Scope& scope);
  void place_outputs(Node& node, const NodeProto& proto, const Scope& scope);
  void fold_outputs(Node& node, const NodeProto& proto, Scope& scope);
  void set_results(const Scope& scope);

  const ModelProto& model_;
  const std::string source_;
  const ImportOptions& options_;
  Module module_;
  Function& fn_;
  Writer writer_;
  Tensors tensors_;
  Folding folding_;
  Functions functions_;
  Shardings shardings_;
  std::map<std::string, int64_t, std::less<>> dims_;            // sizes of named dimensions
  std::vector<std::string> open_dims_;                          // named, without a size
  std::unordered_map<ValueId, const TensorProto*> parameters_;  // arguments of main
  std::unordered_map<const TensorProto*, Value> initializers_;  // those read so far
  Expr random_state_;                                           // none while nothing is drawn
  int64_t num_nodes_ = 0;                                       // emitted so far
  int depth_ = 0;                                               // of graphs and functions
};

}  // namespace spmd::onnx
