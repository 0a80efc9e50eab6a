// Accumulators, and how the threads of a row or a tile combine theirs.
#include <set>

#include "codegen/kernels/cuda_printer.h"
#include "codegen/kernels/scalar_text.h"

namespace spmd::codegen::kernels {

size_t CudaPrinter::num_results(int r) const { return kernel_.reductions[at(r)].inits.size(); }

std::vector<std::string> CudaPrinter::accumulators(int r) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < num_results(r); ++i) names.push_back(accumulator(r, i));
  return names;
}

void CudaPrinter::assign(int r, const std::vector<std::string>& values) {
  const std::vector<std::string> names = accumulators(r);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != values[i]) line("{} = {};", names[i], values[i]);
}

// One op starts at what changes nothing; a program at its initial values, as often as it pleases.
void CudaPrinter::begin_accumulators(const std::vector<int>& reductions) {
  for (int r : reductions) {
    const Reduction& reduction = kernel_.reductions[at(r)];
    for (size_t i = 0; i < num_results(r); ++i)
      line("{}{} = {};", strip_ > 1 ? "" : fmt::format("{} ", accumulator_type(r, i)),
           accumulator(r, i),
           reduction.op == plan::NOP
               ? value(reduction.inits[i])
               : identity(reduction.op, static_cast<plan::DType>(reduction.program.inputs(0))));
  }
}

// Places for the partial results of `count` warps or lines, which reductions use in turn: one for
// each number of a result and type.
void CudaPrinter::shared_memory(int64_t count) {
  if (count <= 1) return;
  const int64_t each = kernel_.mapping == Mapping::kRows ? count : count * kWarp * strip_;
  std::set<std::string> declared;
  for (int s = 0; s < kernel_.num_stages; ++s)
    for (int r : reductions(s))
      for (size_t i = 0; i < num_results(r); ++i)
        if (declared.insert(shared_name(r, i)).second)
          line("__shared__ {} {}[{}];", accumulator_type(r, i), shared_name(r, i), each);
}

std::string CudaPrinter::shared_name(int r, size_t i) const {
  return fmt::format("s{}_{}", i, accumulator_type(r, i));
}

void CudaPrinter::combine_threads(int r) {
  open("for (int mask = {}; mask > 0; mask /= 2)", kWarp / 2);
  std::vector<std::string> others;
  for (size_t i = 0; i < num_results(r); ++i) {
    others.push_back(fmt::format("b{}_{}", r, i));
    line("const {} {} = from_lane({}, mask);", accumulator_type(r, i), others.back(),
         accumulator(r, i));
  }
  assign(r, combine(r, accumulators(r), others));
  close();
  if (row_threads_ > kWarp)
    combine_shared(r, fmt::format("t / {}", kWarp), fmt::format("t % {} == 0", kWarp), "",
                   row_threads_ / kWarp);
  finish(r);
}

void CudaPrinter::combine_shared(int r, const std::string& group, const std::string& condition,
                                 const std::string& suffix, int64_t count) {
  open("if ({})", condition);
  for (size_t i = 0; i < num_results(r); ++i)
    line("{}[({}){}] = {};", shared_name(r, i), group, suffix, accumulator(r, i));
  close();
  line("__syncthreads();");
  for (size_t i = 0; i < num_results(r); ++i)
    line("{} = {}[(0){}];", accumulator(r, i), shared_name(r, i), suffix);
  open("for (int g = 1; g < {}; ++g)", count);
  std::vector<std::string> others;
  for (size_t i = 0; i < num_results(r); ++i)
    others.push_back(fmt::format("{}[(g){}]", shared_name(r, i), suffix));
  assign(r, combine(r, accumulators(r), others));
  close();
  line("__syncthreads();");
}

void CudaPrinter::finish(int r) {
  const Reduction& reduction = kernel_.reductions[at(r)];
  if (reduction.op == plan::NOP) return;
  open("");
  assign(r, combine(r, {value(reduction.inits[0])}, accumulators(r)));
  close();
}

void CudaPrinter::accumulate(const std::vector<int>& reductions) {
  for (int e = 0; e < elements_at_once(); ++e) {
    if (strip_ > 1) index_accumulators(fmt::format("[j + {}]", e));
    for (int r : reductions) {
      std::vector<std::string> elements;
      for (int n : kernel_.reductions[at(r)].elements) elements.push_back(element_value(n, e));
      assign(r, combine(r, accumulators(r), elements));
    }
  }
  if (strip_ > 1) index_accumulators("[j]");
}

}  // namespace spmd::codegen::kernels
