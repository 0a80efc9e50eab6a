// What printing a kernel takes in both dialects: lines, names of values, index expressions.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "codegen/kernels/loop_ir.h"

namespace spmd::codegen::kernels {

class KernelPrinter {
 public:
  KernelPrinter(Kernel kernel, std::string& out) : kernel_(std::move(kernel)), out_(out) {
    if (kernel_.rows.empty()) add_unit_row();
    names_.resize(kernel_.nodes.size());
    elements_of_.resize(kernel_.accesses.size());
    find_live();
    find_element_nodes();
  }

 protected:
  ~KernelPrinter() = default;

  // The addresses of the accesses, out of the array that `arguments` names, and the loops.
  // `read_qualifier`: of pointers that are read, "__restrict__ ".
  void body(std::string_view arguments, std::string_view read_qualifier = "");
  // The loops of each mapping.
  virtual void flat() = 0;
  virtual void rows() = 0;
  virtual void column_tiles() = 0;

  static size_t at(int number) { return static_cast<size_t>(number); }
  const Node& node(int n) const { return kernel_.nodes[at(n)]; }
  const Access& access(int a) const { return kernel_.accesses[at(a)]; }

  // ---- lines

  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(indent_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  // "<text> {", indented until close().
  template <typename... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    const std::string text = fmt::format(format, std::forward<Args>(args)...);
    line("{}{{", text.empty() ? text : text + ' ');
    indent_ += 2;
  }
  void close() {
    indent_ -= 2;
    line("}}");
  }

  // ---- index variables: r0, r1, ... and c0, c1, ...

  static std::string row(size_t dim) { return fmt::format("r{}", dim); }
  static std::string column(size_t dim) { return fmt::format("c{}", dim); }
  // "r0 * 640 + c0", "0".
  std::string index(const Strides& strides) const;
  // The number of the column in row-major order.
  std::string column_number() const;
  // Row dimensions [0, depth) that the strides, or the node with what it is made of, vary along.
  static size_t depth(const Dims& strides);
  size_t row_depth(int n) const;
  size_t column_depth(int n) const;

  // ---- nodes

  // The text that stands for a node's value, a term: a literal or a name.
  std::string value(int n) const;
  void set_name(int n, std::string name) { names_[at(n)] = std::move(name); }
  // "const float v7 = ...;". What it is made of has names.
  void define(int n);
  // The per-row nodes of the first stage that depend on the first `depth` row dimensions.
  void define_at_depth(size_t depth);
  std::string definition(int n) const;
  // A kScalar's expression, of its arguments' texts; see Operation::leaves_rounding.
  std::string scalar_definition(int n, const std::function<std::string(int)>& value_of,
                                bool leaves_rounding = false) const;
  // An access's element in memory, or what set_element() says it is.
  std::string element(int a) const {
    if (!elements_of_[at(a)].empty()) return elements_of_[at(a)];
    return fmt::format("p{}[{}]", a, index(access(a).strides));
  }
  void set_element(int a, std::string text) { elements_of_[at(a)] = std::move(text); }
  void store(const Store& store);

  bool is_live(int n) const { return live_[at(n)]; }
  // Per element, in stage `s`: what its reductions and stores need, in order.
  const std::vector<int>& element_nodes(int s) const { return elements_[at(s)]; }
  const std::vector<std::vector<int>>& element_nodes() const { return elements_; }
  // Whether a stage before `s` has left the node's values.
  bool is_kept_from_before(int n, int s) const;
  // Which nodes the stages compute. Again after Node::kept has changed.
  void find_element_nodes();
  // Per row, first computable in stage `s`, in order.
  std::vector<int> row_nodes(int s) const;
  bool is_per_row(const Store& store) const;
  std::vector<Store> row_stores(int s) const;
  std::vector<Store> element_stores(int s) const;
  std::vector<int> reductions(int s) const;

  // Prints a reducer's instructions; returns its outputs' texts.
  std::vector<std::string> combine(int reduction, const std::vector<std::string>& accumulators,
                                   const std::vector<std::string>& elements);
  // Accumulator `i`: "a0_1", or one of an array of those, "a0_1[j]".
  std::string accumulator(int reduction, size_t i) const {
    return fmt::format("a{}_{}{}", reduction, i, accumulator_index_);
  }
  void index_accumulators(std::string index) { accumulator_index_ = std::move(index); }
  // The type of accumulator `i`.
  std::string_view accumulator_type(int reduction, size_t i) const;

  Kernel kernel_;
  std::string& out_;
  bool has_half_functions_ = false;  // Operation::has_half_functions

 private:
  void add_unit_row();
  void find_live();
  std::vector<int> needed_elements(int s) const;

  size_t indent_ = 0;
  std::string accumulator_index_;
  std::vector<std::string> names_;        // by node
  std::vector<std::string> elements_of_;  // by access; empty: in memory
  std::vector<bool> live_;
  std::vector<std::vector<int>> elements_;  // by stage
  int temporaries_ = 0;
};

}  // namespace spmd::codegen::kernels
