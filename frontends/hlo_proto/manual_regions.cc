#include "frontends/hlo_proto/manual_regions.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

constexpr const char* kExportAgain =
    "export the program as JAX lowers it, before other tools change it";

bool is_target(const Instruction& instruction, const char* sdy, const char* spmd) {
  return instruction.opcode() == "custom-call" &&
         (instruction.custom_call_target() == sdy || instruction.custom_call_target() == spmd);
}

bool is_entry(const Instruction& instruction) {
  return is_target(instruction, "xla.sdy.GlobalToLocalShape", "SPMDFullToShardShape");
}

bool is_exit(const Instruction& instruction) {
  return is_target(instruction, "xla.sdy.LocalToGlobalShape", "SPMDShardToFullShape");
}

// A body without arguments has no entry marker.
bool is_body_without_arguments(ModuleContext& context, const Computation& computation,
                               const Instruction& instruction) {
  if (instruction.opcode() != "call" || instruction.operand_ids_size() > 0) return false;
  return context.computations.called(computation, instruction, 0)
      .proto->name()
      .starts_with("xla.sdy.manual_computation_body");
}

// Disjoint sets of instructions.
class Sets {
 public:
  explicit Sets(int size) : parent_(static_cast<size_t>(size)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int i) {
    while (parent_[static_cast<size_t>(i)] != i) {
      int& parent = parent_[static_cast<size_t>(i)];
      parent = parent_[static_cast<size_t>(parent)];
      i = parent;
    }
    return i;
  }
  void join(int a, int b) { parent_[static_cast<size_t>(find(a))] = find(b); }

 private:
  std::vector<int> parent_;
};

}  // namespace

ManualRegions::ManualRegions(ModuleContext& context, const Computation& computation)
    : context_(context), computation_(computation) {
  const auto& instructions = computation.proto->instructions();
  if (std::any_of(instructions.begin(), instructions.end(),
                  [](const Instruction& i) { return is_entry(i) || is_exit(i); })) {
    find_regions();
    schedule();
  } else {
    order_.resize(static_cast<size_t>(computation.size()));
    std::iota(order_.begin(), order_.end(), 0);
  }
}

void ManualRegions::find_regions() {
  const int size = computation_.size();
  region_of_.assign(static_cast<size_t>(size), -1);
  constant_.assign(static_cast<size_t>(size), false);
  group();
  for (int i = 0; i < size; ++i) {
    if (!is_local(i)) continue;
    const Instruction& instruction = computation_.instruction(i);
    ManualRegion& region = regions_[static_cast<size_t>(region_of_[static_cast<size_t>(i)])];
    (is_entry(instruction)  ? region.entries
     : is_exit(instruction) ? region.exits
                            : region.body)
        .push_back(i);
  }
  for (size_t i = 0; i < regions_.size(); ++i) capture(static_cast<int>(i));
}

// Sets region_of_: instructions are of one region when local values connect them.
void ManualRegions::group() {
  const int size = computation_.size();
  Sets sets(size);
  std::vector<bool> local(static_cast<size_t>(size), false);  // the value is local
  std::vector<bool> member(static_cast<size_t>(size), false);
  for (int i = 0; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    const Instruction& instruction = computation_.instruction(i);
    bool touches =
        is_entry(instruction) || is_body_without_arguments(context_, computation_, instruction);
    constant_[at] = instruction.opcode() != "parameter";
    for (int k = 0; k < instruction.operand_ids_size(); ++k) {
      const int operand = context_.computations.operand(computation_, i, k);
      constant_[at] = constant_[at] && constant_[static_cast<size_t>(operand)];
      if (!local[static_cast<size_t>(operand)]) continue;
      if (is_entry(instruction)) {
        context_.fail(instruction, "a region of local shapes begins inside another", kExportAgain);
      }
      sets.join(i, operand);
      touches = true;
    }
    if (is_exit(instruction) && !touches) {
      context_.fail(instruction, "the region of local shapes that ends here has no beginning",
                    kExportAgain);
    }
    member[at] = touches;
    local[at] = touches && !is_exit(instruction);
    constant_[at] = constant_[at] && !touches;
  }
  if (local[static_cast<size_t>(computation_.root)]) {
    context_.fail(computation_.root_instruction(), "a region of local shapes has no end",
                  kExportAgain);
  }
  std::vector<int> region_of_set(static_cast<size_t>(size), -1);
  for (int i = 0; i < size; ++i) {
    if (!member[static_cast<size_t>(i)]) continue;
    int& region = region_of_set[static_cast<size_t>(sets.find(i))];
    if (region < 0) {
      region = static_cast<int>(regions_.size());
      regions_.emplace_back();
    }
    region_of_[static_cast<size_t>(i)] = region;
  }
}

// Finds what the region uses from outside without a marker.
void ManualRegions::capture(int number) {
  ManualRegion& region = regions_[static_cast<size_t>(number)];
  std::unordered_set<int> seen;
  std::vector<int> work;
  const auto use_operands = [&](int user) {
    const Instruction& instruction = computation_.instruction(user);
    for (int k = 0; k < instruction.operand_ids_size(); ++k) {
      const int operand = context_.computations.operand(computation_, user, k);
      const bool inside = region_of_[static_cast<size_t>(operand)] == number &&
                          !is_exit(computation_.instruction(operand));
      if (inside) continue;
      if (!constant_[static_cast<size_t>(operand)]) {
        context_.fail(instruction,
                      fmt::format("uses the global value \"{}\" where shapes are local",
                                  computation_.instruction(operand).name()),
                      kExportAgain);
      }
      if (seen.insert(operand).second) work.push_back(operand);
    }
  };
  for (int user : region.body) use_operands(user);
  for (int user : region.exits) use_operands(user);
  while (!work.empty()) {
    const int next = work.back();
    work.pop_back();
    region.captured.push_back(next);
    use_operands(next);
  }
  std::sort(region.captured.begin(), region.captured.end());
}

const ManualRegion* ManualRegions::starting_at(int number) const {
  if (!is_local(number)) return nullptr;
  const auto& region = regions_[static_cast<size_t>(region_of_[static_cast<size_t>(number)])];
  return !region.exits.empty() && region.exits.front() == number ? &region : nullptr;
}

// Nodes of the schedule: instructions outside of regions by their number, then the regions.
int ManualRegions::node_of(int number) const {
  const int region = region_of_[static_cast<size_t>(number)];
  return region < 0 ? number : computation_.size() + region;
}

std::vector<int> ManualRegions::dependencies(int node) const {
  std::vector<int> result;
  const auto add_operands = [&](int number) {
    for (int k = 0; k < computation_.instruction(number).operand_ids_size(); ++k) {
      result.push_back(node_of(context_.computations.operand(computation_, number, k)));
    }
  };
  if (node < computation_.size()) {
    add_operands(node);
  } else {
    const auto& region = regions_[static_cast<size_t>(node - computation_.size())];
    for (int entry : region.entries) add_operands(entry);
  }
  return result;
}

void ManualRegions::schedule() {
  std::vector<char> state(static_cast<size_t>(computation_.size()) + regions_.size(), 0);
  for (int i = 0; i < computation_.size(); ++i) visit(node_of(i), state);
}

// Depth first, with a stack of its own: chains of instructions are long.
void ManualRegions::visit(int root, std::vector<char>& state) {
  enum : char { kNew, kOpen, kDone };
  struct Frame {
    int node;
    std::vector<int> dependencies;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto open = [&](int node) {
    if (state[static_cast<size_t>(node)] == kDone) return;
    if (state[static_cast<size_t>(node)] == kOpen) {
      throw UserError(context_.source,
                      fmt::format("regions of local shapes in \"{}\" need each other's results",
                                  computation_.proto->name()),
                      kExportAgain);
    }
    state[static_cast<size_t>(node)] = kOpen;
    stack.push_back({node, dependencies(node)});
  };
  open(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next < frame.dependencies.size()) {
      open(frame.dependencies[frame.next++]);
      continue;
    }
    const int node = frame.node;
    stack.pop_back();
    state[static_cast<size_t>(node)] = kDone;
    if (node < computation_.size()) {
      order_.push_back(node);
    } else {
      const auto& exits = regions_[static_cast<size_t>(node - computation_.size())].exits;
      if (!exits.empty()) order_.push_back(exits.front());
    }
  }
}

}  // namespace spmd::hlo_proto
