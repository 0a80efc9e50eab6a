#include "codegen/dot_epilogues.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/accesses.h"
#include "codegen/gelu.h"
#include "codegen/step_tree.h"
#include "codegen/views.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {
namespace {

// How far apart a product and its epilogue may stand.
constexpr int kStepsBetween = 8;

bool is_library_float(plan::DType dtype) {
  return dtype == plan::F32 || dtype == plan::BF16 || dtype == plan::F16;
}

// ---- memory

// Bytes of the arena, or all of another buffer.
struct Region {
  int buffer = -1;  // -1: of the arena
  int64_t begin = 0, end = 0;
};

bool overlap(const Region& a, const Region& b) {
  return a.buffer == b.buffer && a.begin < b.end && b.begin < a.end;
}

class Memory {
 public:
  explicit Memory(const plan::Plan& plan) : plan_(plan) {}

  Region region(const plan::View& view) const {
    const plan::Buffer& buffer = plan_.buffers(view.buffer());
    if (buffer.kind() == plan::Buffer::ARENA)
      return {-1, buffer.offset(), buffer.offset() + buffer.bytes()};
    return {view.buffer(), 0, std::max<int64_t>(buffer.bytes(), 1)};
  }

  // Whether the order of two steps matters.
  bool conflict(const plan::Step& a, const plan::Step& b) const {
    bool found = false;
    plan::for_each_view(a, [&](const plan::View& left, bool left_writes) {
      plan::for_each_view(b, [&](const plan::View& right, bool right_writes) {
        if (left_writes || right_writes) found = found || overlap(region(left), region(right));
      });
    });
    return found;
  }

 private:
  const plan::Plan& plan_;
};

// ---- shapes

// A product's result without its batch, and an elementwise step on it, in the dimensions of both.
class ResultSpace {
 public:
  static std::optional<ResultSpace> make(const plan::Dot& dot, const plan::Elementwise& map) {
    ResultSpace space;
    for (int64_t size : dot.batch())
      if (size != 1) return std::nullopt;
    for (const auto* sizes : {&dot.batch(), &dot.m(), &dot.n()})
      space.dot_shape_.insert(space.dot_shape_.end(), sizes->begin(), sizes->end());
    space.map_shape_ = plan::dims_of(map.shape());
    if (plan::element_count(map.shape()) == 0) return std::nullopt;
    const std::optional<Dims> refined = product(space.dot_shape_) == product(space.map_shape_)
                                            ? common_refinement(space.dot_shape_, space.map_shape_)
                                            : std::nullopt;
    if (!refined) return std::nullopt;
    space.refined_ = *refined;
    int64_t columns = 1;
    for (int64_t size : dot.n()) columns *= size;
    space.first_column_ = refined->size();
    for (int64_t covered = 1; covered < columns; covered *= (*refined)[space.first_column_])
      --space.first_column_;
    return space;
  }

  std::optional<Dims> of_dot(const plan::View& view) const { return strides(view, dot_shape_); }
  std::optional<Dims> of_map(const plan::View& view) const { return strides(view, map_shape_); }

  // Whether strides say: one dense vector along the columns, for every row.
  bool is_bias(const Dims& strides) const {
    int64_t dense = 1;
    for (size_t d = refined_.size(); d-- > 0;) {
      if (strides[d] != (d < first_column_ ? 0 : dense)) return false;
      dense *= refined_[d];
    }
    return first_column_ < refined_.size();
  }

  // Strides on the product's own dimensions; nullopt when there are none that say the same.
  std::optional<Dims> on_dot(const Dims& strides) const {
    Dims result(dot_shape_.size(), 0);
    size_t from = refined_.size();
    for (size_t d = dot_shape_.size(); d-- > 0;) {
      for (int64_t covered = 1; covered < dot_shape_[d]; covered *= refined_[from]) {
        --from;
        if (covered == 1) result[d] = strides[from];
        if (strides[from] != result[d] * covered) return std::nullopt;
      }
    }
    return result;
  }

 private:
  static int64_t product(const Dims& dims) {
    int64_t count = 1;
    for (int64_t size : dims) count *= size;
    return count;
  }
  std::optional<Dims> strides(const plan::View& view, const Dims& shape) const {
    if (static_cast<size_t>(view.strides_size()) != shape.size()) return std::nullopt;
    return strides_on(from_plan(view, shape), refined_);
  }

  Dims dot_shape_, map_shape_, refined_;
  size_t first_column_ = 0;  // of the refined dimensions
};

// ---- arithmetic

// A value of the map's program: a constant, one of its inputs, or
// activation(scale * product + bias + residual).
struct Term {
  enum class Kind : uint8_t { kOther, kConstant, kInput, kResult };
  Kind kind = Kind::kOther;
  double constant = 0;
  int input = -1;
  double scale = 1;
  int bias = 0, residual = 0;  // 1 + the input's number
  plan::DotEpilogue::Activation activation = plan::DotEpilogue::NONE;

  bool is_product() const {
    return kind == Kind::kResult && bias == 0 && residual == 0 &&
           activation == plan::DotEpilogue::NONE;
  }
  bool operator==(const Term&) const = default;
};

// How far coefficients may be from GELU's: products of two constants, each rounded by at most half
// a unit in the last place.
double tolerance_of(plan::DType dtype) { return dtype == plan::BF16 ? 0x1p-7 : 0x1p-10; }

class EpilogueMatcher {
 public:
  EpilogueMatcher(const plan::Dot& dot, const plan::Elementwise& map) : dot_(dot), map_(map) {}

  // The epilogue that `map` is, but for the map itself.
  std::optional<plan::DotEpilogue> match() {
    const std::optional<ResultSpace> space = ResultSpace::make(dot_, map_);
    if (!space || map_.outputs_size() < 1 || map_.outputs_size() > 2) return std::nullopt;
    const plan::DType dtype = map_.outputs(0).dtype();
    if (!is_library_float(dtype) || !is_library_float(dot_.out().dtype())) return std::nullopt;
    if (!find_inputs(*space)) return std::nullopt;
    for (const plan::Instruction& instruction : map_.program().instructions())
      terms_.push_back(term_of(instruction));
    const std::optional<Dims> strides = space->on_dot(*out_strides_);
    if (!strides) return std::nullopt;
    std::optional<plan::DotEpilogue> epilogue;
    if (map_.outputs_size() == 1) epilogue = linear();
    if (!epilogue && dtype != plan::F32) epilogue = gelu(*space);
    if (!epilogue && dtype != plan::F32) epilogue = gelu_gradient();
    if (!epilogue) return std::nullopt;
    epilogue->mutable_out()->mutable_strides()->Assign(strides->begin(), strides->end());
    if (epilogue->has_preactivation())
      *epilogue->mutable_preactivation()->mutable_strides() = epilogue->out().strides();
    return epilogue;
  }

 private:
  const Term& term(int i) const { return terms_[static_cast<size_t>(i)]; }

  plan::DotEpilogue epilogue_of(const Term& result, int output) const {
    plan::DotEpilogue epilogue;
    *epilogue.mutable_out() = map_.outputs(output);
    epilogue.set_scale(result.scale);
    epilogue.set_bias(result.bias);
    epilogue.set_residual(result.residual);
    epilogue.set_activation(result.activation);
    return epilogue;
  }

  std::optional<plan::DotEpilogue> linear() const {
    const Term& result = term(map_.program().outputs(0));
    if (result.kind != Term::Kind::kResult || result.is_product()) return std::nullopt;
    return epilogue_of(result, 0);
  }

  // Of a sum, which may be an output too.
  std::optional<plan::DotEpilogue> gelu(const ResultSpace& space) const {
    const auto& outputs = map_.program().outputs();
    const double tolerance = tolerance_of(map_.outputs(0).dtype());
    for (int o = 0; o < outputs.size(); ++o) {
      const std::optional<int> argument = gelu_argument(map_.program(), outputs[o], tolerance);
      if (!argument || term(*argument).kind != Term::Kind::kResult ||
          term(*argument).activation != plan::DotEpilogue::NONE)
        continue;
      plan::DotEpilogue epilogue = epilogue_of(term(*argument), o);
      epilogue.set_activation(plan::DotEpilogue::GELU);
      if (outputs.size() == 1) return epilogue;
      const plan::View& other = map_.outputs(1 - o);
      if (!(term(outputs[1 - o]) == term(*argument)) || other.dtype() != epilogue.out().dtype() ||
          space.of_map(map_.outputs(1)) != out_strides_)
        continue;
      *epilogue.mutable_preactivation() = other;
      return epilogue;
    }
    return std::nullopt;
  }

  std::optional<plan::DotEpilogue> gelu_gradient() const {
    if (map_.outputs_size() != 1 || map_.inputs_size() != 2) return std::nullopt;
    const int product = term(0).is_product() ? 0 : 1, argument = 1 - product;
    if (!term(product).is_product() || !is_residual_[static_cast<size_t>(argument)])
      return std::nullopt;
    const std::optional<double> scale =
        gelu_gradient_scale(map_.program(), map_.program().outputs(0), product, argument,
                            tolerance_of(map_.outputs(0).dtype()));
    if (!scale) return std::nullopt;
    plan::DotEpilogue epilogue = epilogue_of(term(product), 0);
    epilogue.set_scale(*scale);
    epilogue.set_activation(plan::DotEpilogue::GELU_GRADIENT);
    *epilogue.mutable_preactivation() = map_.inputs(argument);
    return epilogue;
  }

  // What each input is. False when the product is read in another order than it is written.
  bool find_inputs(const ResultSpace& space) {
    const plan::View& out = map_.outputs(0);  // all outputs lie alike
    out_strides_ = space.of_map(out);
    const std::optional<Dims> product = space.of_dot(dot_.out());
    if (!out_strides_ || !product) return false;
    for (int i = 0; i < map_.inputs_size(); ++i) {
      const plan::View& view = map_.inputs(i);
      const std::optional<Dims> strides = space.of_map(view);
      Term& term = terms_.emplace_back();
      is_bias_.push_back(false);
      is_residual_.push_back(false);
      if (view.buffer() == dot_.out().buffer()) {
        if (strides != product || view.offset() != dot_.out().offset() ||
            view.dtype() != dot_.out().dtype())
          return false;
        term.kind = Term::Kind::kResult;
        continue;
      }
      if (!strides || view.dtype() != out.dtype()) continue;
      is_bias_.back() = space.is_bias(*strides);
      is_residual_.back() = !is_bias_.back() && strides == out_strides_;
      if (is_bias_.back() || is_residual_.back()) term.kind = Term::Kind::kInput;
      term.input = i;
    }
    return true;
  }

  Term term_of(const plan::Instruction& instruction) const {
    if (instruction.op() == plan::CONSTANT) {
      const std::optional<double> value = float_constant(instruction);
      Term term;
      if (value) term.kind = Term::Kind::kConstant;
      term.constant = value.value_or(0);
      return term;
    }
    if (!is_library_float(instruction.dtype())) return {};
    std::vector<Term> args;
    for (int arg : instruction.args()) args.push_back(terms_[static_cast<size_t>(arg)]);
    // Rounding in between is left out.
    if (instruction.op() == plan::CONVERT) return args[0];
    if (args.size() != 2) return {};
    if (args[0].kind != Term::Kind::kResult) std::swap(args[0], args[1]);
    if (args[0].kind != Term::Kind::kResult) return {};
    switch (instruction.op()) {
      case plan::MULTIPLY:
        return scaled(args[0], args[1]);
      case plan::ADD:
        return sum(args[0], args[1]);
      case plan::MAXIMUM:
        return rectified(args[0], args[1]);
      default:
        return {};
    }
  }

  static Term scaled(Term term, const Term& factor) {
    if (!term.is_product() || factor.kind != Term::Kind::kConstant) return {};
    term.scale *= factor.constant;
    return term;
  }

  Term sum(Term term, const Term& other) const {
    if (term.activation != plan::DotEpilogue::NONE || other.kind != Term::Kind::kInput) return {};
    const auto input = static_cast<size_t>(other.input);
    int& operand = is_bias_[input] ? term.bias : term.residual;
    if (operand != 0) return {};
    operand = other.input + 1;
    return term;
  }

  static Term rectified(Term term, const Term& other) {
    if (other.kind != Term::Kind::kConstant || other.constant != 0) return {};
    term.activation = plan::DotEpilogue::RELU;
    return term;
  }

  const plan::Dot& dot_;
  const plan::Elementwise& map_;
  std::optional<Dims> out_strides_;          // on the refined dimensions
  std::vector<Term> terms_;                  // by register
  std::vector<bool> is_bias_, is_residual_;  // by input
};

// ---- steps

class EpilogueFuser {
 public:
  EpilogueFuser(plan::Plan& plan, std::vector<FusionNote>* notes)
      : plan_(plan), memory_(plan), notes_(notes) {
    accesses_.resize(static_cast<size_t>(plan.buffers_size()), 0);
    for (plan::Program& program : *plan.mutable_programs()) {
      const StepTree tree(*program.mutable_body());
      for (int s = 0; s < tree.num_steps(); ++s)
        for_each_view(*tree[s].step, [&](plan::View& view, bool writes) {
          if (!writes) ++accesses_[static_cast<size_t>(view.buffer())];
        });
    }
  }

  void run() {
    for (plan::Program& program : *plan_.mutable_programs()) visit(*program.mutable_body());
  }

 private:
  void visit(plan::Sequence& sequence) {
    for (int s = 0; s < sequence.steps_size(); ++s) {
      for (plan::Sequence* inner : sequences_of(*sequence.mutable_steps(s))) visit(*inner);
      // Another step may stand here now.
      if (sequence.steps(s).has_dot() && fuse(sequence, s)) --s;
    }
    drop_empty_steps(sequence);
  }

  // Joins the product with the step that alone reads its result, in that one's place.
  bool fuse(plan::Sequence& sequence, int at) {
    plan::Step& step = *sequence.mutable_steps(at);
    if (step.dot().has_epilogue()) return false;
    const int buffer = step.dot().out().buffer();
    const int last = std::min(at + kStepsBetween, sequence.steps_size() - 1);
    for (int s = at + 1; s <= last; ++s) {
      plan::Step& map = *sequence.mutable_steps(s);
      if (reads(map, buffer)) {
        return map.has_elementwise() && is_only_reader(map, buffer) && is_apart(step.dot(), map) &&
               join(sequence, at, s);
      }
      // What is passed has to be able to go first.
      if (!sequences_of(map).empty() || map.has_collective() || memory_.conflict(step, map))
        return false;
    }
    return false;
  }

  bool join(plan::Sequence& sequence, int at, int s) {
    plan::Step& step = *sequence.mutable_steps(at);
    plan::Step& map = *sequence.mutable_steps(s);
    std::optional<plan::DotEpilogue> epilogue =
        EpilogueMatcher(step.dot(), map.elementwise()).match();
    if (!epilogue || !is_preactivation_apart(*epilogue)) return false;
    if (notes_ != nullptr) notes_->push_back(note_of(map, step.dot().out()));
    epilogue->mutable_map()->Swap(&map);
    epilogue->Swap(step.mutable_dot()->mutable_epilogue());
    for (int i = at; i < s; ++i) sequence.mutable_steps()->SwapElements(i, i + 1);
    return true;
  }

  // The product is neither written nor read.
  static FusionNote note_of(const plan::Step& map, const plan::View& product) {
    FusionNote note;
    note.place = map.op();
    note.is_epilogue = true;
    note.bytes_saved =
        2 * plan::element_count(map.elementwise().shape()) * plan::byte_size(product.dtype());
    return note;
  }

  static bool reads(const plan::Step& step, int buffer) {
    bool found = false;
    plan::for_each_view(step, [&](const plan::View& view, bool writes) {
      found = found || (!writes && view.buffer() == buffer);
    });
    return found;
  }

  // Once, and nobody else; if the result stays in the buffer, that is the map's.
  bool is_only_reader(const plan::Step& map, int buffer) const {
    const plan::Buffer::Kind kind = plan_.buffers(buffer).kind();
    int reads = 0;
    bool writes_there = false;
    plan::for_each_view(map, [&](const plan::View& view, bool writes) {
      if (view.buffer() != buffer) return;
      reads += writes ? 0 : 1;
      writes_there = writes_there || writes;
    });
    if (reads != 1) return false;
    return writes_there || (kind == plan::Buffer::ARENA && accesses_[size_t(buffer)] == 1);
  }

  // Whether what the map writes lies apart from what the product reads.
  bool is_apart(const plan::Dot& dot, const plan::Step& map) const {
    bool apart = true;
    plan::for_each_view(map, [&](const plan::View& view, bool writes) {
      if (!writes) return;
      for (const plan::View* operand : {&dot.lhs(), &dot.rhs()})
        apart = apart && !overlap(memory_.region(view), memory_.region(*operand));
    });
    return apart;
  }

  // The library may read and write it in another order than the result.
  bool is_preactivation_apart(const plan::DotEpilogue& epilogue) const {
    return !epilogue.has_preactivation() ||
           !overlap(memory_.region(epilogue.preactivation()), memory_.region(epilogue.out()));
  }

  plan::Plan& plan_;
  Memory memory_;
  std::vector<int> accesses_;  // views that read, by buffer
  std::vector<FusionNote>* notes_;
};

}  // namespace

void add_dot_epilogues(plan::Plan& plan, std::vector<FusionNote>* notes) {
  EpilogueFuser(plan, notes).run();
}

}  // namespace spmd::codegen
