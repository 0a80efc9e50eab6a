// Node: one node of a graph, as the function that gives it its meaning sees it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/expr.h"
#include "frontends/onnx/value.h"

namespace spmd::onnx {

class AttributeProto;
class GraphProto;
class NodeProto;
class Importer;
struct Frame;

class Node {
 public:
  Node(Importer& importer, const NodeProto& proto, Scope& scope, const Frame& frame, int opset)
      : importer_(importer), proto_(proto), scope_(scope), frame_(frame), opset_(opset) {}

  const std::string& op() const;
  // Version of the operator set of the node's domain.
  int opset() const { return opset_; }
  Importer& importer() { return importer_; }
  Scope& scope() { return scope_; }
  const Frame& frame() const { return frame_; }
  Writer& writer();

  // ---- inputs; those left out at the end, or without a name, are absent
  int num_inputs() const;
  bool has(int input);
  Value value(int input);  // absent when left out
  const std::vector<Value>& sequence(int input);
  Expr in(int input);                    // must be a tensor
  Expr in_or_none(int input);            // false when left out
  std::vector<Expr> ins(int first = 0);  // all from `first` on
  // The value, when it is known at compile time; null otherwise.
  const Literal* known_or_null(int input);
  // The value, which must be known: it decides a shape.
  const Literal& known(int input);
  Dims known_integers(int input);
  int64_t known_integer(int input);
  std::vector<double> known_numbers(int input);
  bool known_boolean(int input);
  std::string input_name(int input) const;  // "input 1 (\"shape\")", for messages

  // ---- attributes
  bool has_attribute(std::string_view name);
  int64_t integer(std::string_view name);  // must be there
  int64_t integer(std::string_view name, int64_t otherwise);
  bool flag(std::string_view name, bool otherwise) { return integer(name, otherwise) != 0; }
  double number(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<Dims> integers(std::string_view name);
  std::optional<std::vector<double>> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  std::optional<Literal> tensor(std::string_view name);
  const GraphProto& graph(std::string_view name);
  const AttributeProto* find_attribute(std::string_view name);
  // The element type that an attribute names by number.
  DType dtype(std::string_view name);

  // `axis` counted from the end when negative; must then lie in [0, rank), or [0, rank] if `end`.
  int64_t axis(int64_t axis, int64_t rank, bool end = false);
  Dims axes(const Dims& axes, int64_t rank);  // distinct
  // A value of `least` or more.
  int64_t at_least(int64_t least, int64_t value, std::string_view what);

  // ---- outputs
  int num_outputs() const;
  bool wants(int output) const;
  void set(int output, const Expr& x) { set(output, Value::of(x.id())); }
  void set(int output, Value value);

  [[noreturn]] void fail(std::string_view fact, std::string_view remedy =
                                                    "the model does not fit ONNX's definition of "
                                                    "the op: export it again");
  // What ONNX allows and spmd cannot do.
  [[noreturn]] void unsupported(std::string_view what);
  void require(bool condition, std::string_view fact) {
    if (!condition) fail(fact);
  }
  // Throws when what is computed while reading (a table, a list) has too many entries.
  void check_table(double entries);
  std::string place() const;

 private:
  Importer& importer_;
  const NodeProto& proto_;
  Scope& scope_;
  const Frame& frame_;
  int opset_;
  std::vector<Value> kept_;
};

}  // namespace spmd::onnx
