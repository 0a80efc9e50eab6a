#include "tests/differential/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "sharding/rules/factor_rule.h"

namespace spmd::testing {
namespace {

using Facts = std::array<bool, kCircumstanceNames.size()>;

bool& fact(Facts& facts, Circumstance circumstance) {
  return facts[static_cast<size_t>(circumstance)];
}

// Collectives of manual code divide what they exchange: no dimension of theirs is uneven.
bool is_manual_collective(const std::string& op) {
  static const std::set<std::string> kOps = {
      "stablehlo.all_gather",         "stablehlo.all_reduce",     "stablehlo.all_to_all",
      "stablehlo.collective_permute", "stablehlo.reduce_scatter", "stablehlo.partition_id"};
  return kOps.contains(op);
}

// Ops without operands, those whose operand is a predicate or the state of a generator, and those
// that are gone before sums are made in parts.
bool takes_no_sums(const std::string& op) {
  static const std::set<std::string> kOps = {
      "stablehlo.constant",          "stablehlo.iota",          "stablehlo.if",
      "stablehlo.rng_bit_generator", "sdy.propagation_barrier", "sdy.sharding_group"};
  return kOps.contains(op);
}

constexpr const char* kDrawn = "drawn";

bool is_required(const std::string& op, const std::string& kind, size_t cell) {
  if (kind == kDrawn) return false;
  const auto circumstance = static_cast<Circumstance>(cell);
  if (circumstance == Circumstance::kUnreduced && takes_no_sums(op)) return false;
  return !is_manual_collective(op) || circumstance == Circumstance::kAxisOfOne ||
         circumstance == Circumstance::kOddOrder;
}

// Why programs are drawn without an op; empty when there is no reason.
std::string why_never_drawn(OpCode code) {
  if (family_of(code) == OpFamily::kExpanded) return "readers rewrite it";
  switch (code) {
    case OpCode::kAxisIndex:
    case OpCode::kReshard:
      return "only passes make it";
    case OpCode::kCustomCall:
      return "none computes: readers rewrite those that are known, others are refused";
    default:
      return "";
  }
}

template <typename F>
bool is_exchanged(const F& factor) {
  if constexpr (requires { factor.exchanged; }) return factor.exchanged;
  return false;
}

const char* kind_of_factor(const FactorRule& rule, int factor) {
  const Factor& f = rule.factors[static_cast<size_t>(factor)];
  switch (f.kind) {
    case FactorKind::kReduction:
      return "reduced";
    case FactorKind::kIndexed:
      return "indexed";
    case FactorKind::kNeedReplication:
      return "whole";
    case FactorKind::kPassThrough:
      break;
  }
  if (is_exchanged(f)) return "exchanged";
  bool everywhere = true;
  for (const auto* tensors : {&rule.operands, &rule.results}) {
    for (const TensorFactors& tensor : *tensors) {
      everywhere = everywhere &&
                   std::any_of(tensor.dims.begin(), tensor.dims.end(), [&](const DimFactors& dim) {
                     return std::find(dim.begin(), dim.end(), factor) != dim.end();
                   });
    }
  }
  return everywhere ? "batch" : "free";
}

std::string kind_of_dimension(const FactorRule& rule, const DimFactors& factors) {
  if (factors.size() > 1) return "part";
  return kind_of_factor(rule, factors[0]);
}

// Adds the circumstances of one dimension.
void look_at(const Value& value, size_t dim, const Mesh& mesh, Facts& facts) {
  const AxisList& axes = value.sharding->dims[dim].axes;
  const int64_t shards = axes_size(axes, mesh), size = value.type.shape[dim];
  if (shards == 1) return;
  const bool uneven = size % shards != 0;
  if (uneven) fact(facts, Circumstance::kUneven) = true;
  if ((size + shards - 1) / shards * (shards - 1) >= size) {
    fact(facts, Circumstance::kEmptyShard) = true;
  }
  for (const AxisRef& axis : axes) {
    if (!axis.is_full()) fact(facts, Circumstance::kSubAxis) = true;
  }
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size == 1) fact(facts, Circumstance::kAxisOfOne) = true;
  }
  if (!mesh.device_ids().empty()) fact(facts, Circumstance::kOddOrder) = true;
}

// Whether a value is unreduced, or was until it was reduced for its user.
bool is_unreduced(const Function& fn, ValueId value) {
  while (true) {
    const ShardingRef& sharding = fn.value(value).sharding;
    if (sharding && !sharding->unreduced.empty()) return true;
    const Op* op = fn.def(value);
    if (op == nullptr || op->code != OpCode::kReshard) return false;
    value = op->operands[0];
  }
}

void look_at_manual(const Op& op, const Mesh& mesh, Facts& facts) {
  if (!is_manual_collective(std::string(name_of(op.code))) &&
      op.code != OpCode::kManualComputation) {
    return;
  }
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size == 1) fact(facts, Circumstance::kAxisOfOne) = true;
  }
  if (!mesh.device_ids().empty()) fact(facts, Circumstance::kOddOrder) = true;
}

}  // namespace

void Coverage::add_drawn(const Module& program) {
  for (const auto& fn : program.functions()) {
    walk(*fn, [&](OpId id) { ++rows_[{std::string(name_of(fn->op(id).code)), kDrawn}].ops; });
  }
}

void Coverage::add(const std::string& pass, const Module& module) {
  if (pass == "inline_calls") count_unreduced_constraints(module.main());
  const bool asked = pass == "propagate_shardings";
  if (!asked && pass != "chain_reshards") return;  // the last that moves or adds ops
  walk(module.main(), [&](OpId id) { count(module, id, asked ? Moment::kAsked : Moment::kDone); });
}

// Wishes that a value stay unreduced, which propagation takes for others.
void Coverage::count_unreduced_constraints(const Function& fn) {
  walk(fn, [&](OpId id) {
    const Op& op = fn.op(id);
    if (op.code != OpCode::kShardingConstraint) return;
    if (op.as<ReshardAttrs>().sharding.unreduced.empty()) return;
    Row& row = rows_[{std::string(name_of(op.code)), "any"}];
    ++row.cells[static_cast<size_t>(Circumstance::kUnreduced)];
  });
}

void Coverage::count(const Module& module, OpId id, Moment moment) {
  const Function& fn = module.main();
  const Op& op = fn.op(id);
  if (op.code == OpCode::kReturn || op.code == OpCode::kReshard) return;
  const std::optional<FactorRule> rule = factor_rule(fn, id);
  std::map<std::string, Facts> kinds;
  bool unreduced = false;
  const auto look = [&](const std::vector<ValueId>& values,
                        const std::vector<TensorFactors>* factors) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Value& value = fn.value(values[i]);
      if (!value.sharding) continue;
      unreduced = unreduced || is_unreduced(fn, values[i]);
      for (size_t d = 0; d < value.type.shape.size(); ++d) {
        if (factors == nullptr) {
          look_at(value, d, module.mesh, kinds["any"]);
        } else if (const DimFactors& dim = (*factors)[i].dims[d]; !dim.empty()) {
          look_at(value, d, module.mesh, kinds[kind_of_dimension(*rule, dim)]);
        }
      }
    }
  };
  look(op.operands, rule ? &rule->operands : nullptr);
  look(op.results, rule ? &rule->results : nullptr);
  if (!rule) look_at_manual(op, module.mesh, kinds["any"]);
  for (auto& [kind, facts] : kinds) {
    fact(facts, Circumstance::kUnreduced) = unreduced;
    const bool whole = kind == "whole" || kind == "any" || op.operands.empty();
    if (whole == (moment == Moment::kAsked)) {
      count_row(std::string(name_of(op.code)), kind, facts);
    } else if (unreduced) {
      const auto row = rows_.find({std::string(name_of(op.code)), kind});
      if (row != rows_.end()) ++row->second.cells[static_cast<size_t>(Circumstance::kUnreduced)];
    }
  }
}

void Coverage::count_row(const std::string& op, const std::string& kind, const Facts& facts) {
  Row& row = rows_[{op, kind}];
  ++row.ops;
  for (size_t i = 0; i < facts.size(); ++i) row.cells[i] += facts[i] ? 1 : 0;
}

void Coverage::merge(const Coverage& other) {
  for (const auto& [key, row] : other.rows_) {
    Row& own = rows_[key];
    own.ops += row.ops;
    for (size_t i = 0; i < row.cells.size(); ++i) own.cells[i] += row.cells[i];
  }
}

std::string Coverage::to_table() const {
  std::string text = fmt::format("{:36}{:10}{:>10}", "op", "dimension", "ops");
  for (const char* column : kCircumstanceNames) text += fmt::format("{:>10}", column);
  std::set<std::string> counted;
  for (const auto& [key, row] : rows_) {
    if (key.second != kDrawn) counted.insert(key.first);
  }
  for (const auto& [key, row] : rows_) {
    if (key.second == kDrawn && counted.contains(key.first)) continue;
    text += fmt::format("\n{:36}{:10}{:>10}", key.first, key.second, row.ops);
    for (size_t i = 0; i < row.cells.size(); ++i) {
      text += is_required(key.first, key.second, i) ? fmt::format("{:>10}", row.cells[i])
                                                    : fmt::format("{:>10}", "-");
    }
  }
  return text + "\n";
}

std::vector<std::string> Coverage::reached_less_than(int64_t least) const {
  std::vector<std::string> cells;
  for (const auto& [key, row] : rows_) {
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i] >= least || !is_required(key.first, key.second, i)) continue;
      cells.push_back(
          fmt::format("{} {} {}: {}", key.first, key.second, kCircumstanceNames[i], row.cells[i]));
    }
  }
  return cells;
}

int64_t Coverage::reached(const std::string& op, Circumstance circumstance) const {
  int64_t count = 0;
  for (const auto& [key, row] : rows_) {
    if (key.first == op) count += row.cells[static_cast<size_t>(circumstance)];
  }
  return count;
}

std::vector<std::string> Coverage::never_drawn() const {
  std::set<std::string> drawn;
  for (const auto& [key, row] : rows_) drawn.insert(key.first);
  std::vector<std::string> missing;
  for (size_t i = 0; i < kNumOpCodes; ++i) {
    const std::string name(name_of(static_cast<OpCode>(i)));
    if (drawn.contains(name)) continue;
    const std::string why = why_never_drawn(static_cast<OpCode>(i));
    missing.push_back(why.empty() ? name : fmt::format("{} ({})", name, why));
  }
  return missing;
}

size_t Coverage::num_cells() const {
  size_t rows = 0;
  for (const auto& [key, row] : rows_) rows += key.second != kDrawn ? 1 : 0;
  return rows * kCircumstanceNames.size();
}

std::string Coverage::to_lines() const {
  std::string lines;
  for (const auto& [key, row] : rows_) {
    lines +=
        fmt::format("{} {} {} {}\n", key.first, key.second, row.ops, fmt::join(row.cells, " "));
  }
  return lines;
}

void Coverage::parse(const std::string& lines) {
  std::istringstream in(lines);
  std::string op, kind;
  while (in >> op >> kind) {
    Row& row = rows_[{op, kind}];
    int64_t count = 0;
    in >> count;
    row.ops += count;
    for (int64_t& cell : row.cells) {
      in >> count;
      cell += count;
    }
  }
}

}  // namespace spmd::testing
