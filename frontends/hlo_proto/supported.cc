// Says at once all that a file contains and we have no meaning for.
#include <map>

#include "frontends/hlo_proto/handlers.h"
#include "ir/custom_call_remedies.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

constexpr size_t kMaxListed = 40;

struct Finding {
  int64_t count = 0;
  const Instruction* first = nullptr;
};
// Ordered, so that messages are the same every time.
using Findings = std::map<std::string, Finding>;

void add(Findings& findings, std::string what, const Instruction& instruction) {
  Finding& finding = findings[std::move(what)];
  if (finding.count++ == 0) finding.first = &instruction;
}

void check_element_types(const hlo::ShapeProto& shape, const Instruction& instruction,
                         Findings& findings) {
  if (shape.element_type() == hlo::TUPLE) {
    for (const hlo::ShapeProto& element : shape.tuple_shapes()) {
      check_element_types(element, instruction, findings);
    }
  } else if (!dtype_of(shape.element_type())) {
    add(findings, fmt::format("element type {}", name_of(shape.element_type())), instruction);
  }
}

void check_instruction(const Instruction& instruction, Findings& findings) {
  if (find_handler(instruction.opcode()) == nullptr) {
    add(findings, instruction.opcode(), instruction);
  } else if (instruction.opcode() == "custom-call" &&
             find_custom_call(instruction.custom_call_target()) == nullptr) {
    add(findings, fmt::format("custom-call \"{}\"", instruction.custom_call_target()), instruction);
  }
  check_element_types(instruction.shape(), instruction, findings);
}

// What XLA's own passes leave behind.
bool is_optimized(const Findings& findings) {
  for (const auto& [what, finding] : findings) {
    if (what == "fusion" || what == "bitcast" || what.starts_with("custom-call \"__") ||
        what.ends_with("-start")) {
      return true;
    }
  }
  return false;
}

std::string remedy_for(const Findings& findings) {
  if (is_optimized(findings))
    return "the module was written after XLA's optimisations: use the one before them "
           "(lower(...).compiler_ir(\"hlo\"), or the \"before_optimizations\" dump)";
  std::vector<std::string> targets;
  for (const auto& [what, finding] : findings)
    if (what.starts_with("custom-call ")) targets.push_back(finding.first->custom_call_target());
  std::string remedy = targets.empty() ? "" : custom_call_remedies(targets);
  if (targets.size() < findings.size())
    remedy += (remedy.empty() ? "" : "\n  ") + std::string("express the program without them");
  return remedy;
}

std::string describe(ModuleContext& context, const std::string& what, const Finding& finding) {
  std::string first = fmt::format("\"{}\"", finding.first->name());
  if (context.places.text != nullptr) {
    first += fmt::format(" in line {}", context.places.text->line_of(*finding.first));
  }
  if (const LocationRef location = context.locations.find(finding.first->metadata())) {
    first += fmt::format(" at {}", location->to_string());
  }
  return fmt::format("{} ({}x, first {})", what, finding.count, first);
}

}  // namespace

void check_supported(ModuleContext& context) {
  Findings findings;
  const std::vector<bool> reachable = context.computations.reachable();
  for (int i = 0; i < context.computations.size(); ++i) {
    if (!reachable[static_cast<size_t>(i)]) continue;
    for (const Instruction& instruction : context.computations.at(i).proto->instructions()) {
      check_instruction(instruction, findings);
    }
  }
  if (findings.empty()) return;
  std::string fact =
      fmt::format("{} kind{} of op {} not supported:", findings.size(),
                  findings.size() == 1 ? "" : "s", findings.size() == 1 ? "is" : "are");
  size_t listed = 0;
  for (const auto& [what, finding] : findings) {
    if (listed++ == kMaxListed) {
      fact += fmt::format("\n  and {} more", findings.size() - kMaxListed);
      break;
    }
    fact += "\n  " + describe(context, what, finding);
  }
  throw UserError(context.source, fact, remedy_for(findings));
}

}  // namespace spmd::hlo_proto
