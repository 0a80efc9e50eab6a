// The checks behind verify_plan (private to this folder).
#pragma once

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "support/error.h"

namespace spmd::plan {

using Shape = std::vector<int64_t>;

class Verifier {
 public:
  Verifier(const Plan& plan, std::string place) : plan_(plan), place_(std::move(place)) {}
  void run();

 private:
  [[noreturn]] void fail(const std::string& fact) const;
  void expect(bool condition, const char* fact) const {
    if (!condition) [[unlikely]]
      fail(fact);
  }

  void mesh();
  void kernels();
  void buffers();
  void signature();
  void placement(const Placement& placement, int32_t buffer);

  void carried(const Carried& carried);
  void sequence(const Sequence& sequence, int depth);
  void streams(const Sequence& body);
  void no_stream(const Step& step) const;
  void races() const;
  void step(const Step& step, int depth);
  // The step's kernel exists and takes as many arguments as the step has views in memory.
  void kernel(const Step& step);

  // A view of `shape` (the view's own when null) stays inside its buffer. Returns its shape.
  Shape view(const View& view, const Shape* shape = nullptr);
  void scalar_view(const View& view);
  // `argument_count`, `result_count`: -1 when free.
  void program(const ScalarProgram& program, int64_t argument_count, int64_t result_count);
  void reducer(ScalarOp op, const ScalarProgram& program, int64_t operands);
  Shape checked_shape(const google::protobuf::RepeatedField<int64_t>& field);
  void dims(const google::protobuf::RepeatedField<int64_t>& dims, int64_t rank, const char* what);
  int64_t axes(const AxisList& list);
  void window(const Window& window, int64_t rank);

  void elementwise(const Elementwise& step);
  void reduce(const Reduce& step);
  void dot(const Dot& step);
  void epilogue(const Dot& dot, const Shape& out);
  void convolution(const Convolution& step);
  void gather(const Gather& step);
  void scatter(const Scatter& step);
  void dynamic_slice(const View& whole, const View& part,
                     const google::protobuf::RepeatedPtrField<View>& starts);
  void reduce_window(const ReduceWindow& step);
  void select_and_scatter(const SelectAndScatter& step);
  void sort(const Sort& step);
  void top_k(const TopK& step);
  void fft(const Fft& step);
  void cholesky(const Cholesky& step);
  void triangular_solve(const TriangularSolve& step);
  void attention(const Attention& step);
  void attention_backward(const AttentionBackward& step);
  void fused(const Fused& step);
  void grouped(const Grouped& step);
  void rng(const RngBitGenerator& step);
  void collective(const Collective& step);
  void collective_part(const Collective& step, const Collective::Part& part, int64_t group);

  const Plan& plan_;
  std::string place_;
  std::string step_;  // the step being checked, for messages
  int64_t devices_ = 1;
  bool in_fused_ = false;
};

}  // namespace spmd::plan
