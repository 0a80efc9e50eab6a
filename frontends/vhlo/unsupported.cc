// Lists every operation of a file that is not in the op table.
#include <algorithm>
#include <map>

#include "frontends/vhlo/importer.h"
#include "support/error.h"

namespace spmd::vhlo {
namespace {

struct Occurrences {
  int count = 0;
  std::vector<std::string> places;  // the first few
};

bool is_structure(std::string_view name) {
  constexpr std::string_view kNames[] = {"builtin.unrealized_conversion_cast", "sdy.mesh",
                                         "stablehlo.func", "stablehlo.tuple",
                                         "stablehlo.get_tuple_element"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

bool Importer::is_supported(const Operation& op) const {
  const Name& name = name_of(op);
  if (!is_structure(name.text) && !text::code_of(name.text)) return false;
  // A version of it that came later.
  return !op.properties || name.properties || !container_.op_names[op.name].registered;
}

void Importer::check_supported(const Operation& module) {
  std::map<std::string, Occurrences> found;
  const auto visit = [&](const auto& self, const Block& block) -> void {
    for (const Operation& op : block.operations) {
      if (!is_supported(op)) {
        const mlir_bytecode::OpName& name = container_.op_names[op.name];
        const std::string key = name.dialect == "vhlo" ? fmt::format("vhlo.{}", escape(name.name))
                                                       : escape(name_of(op).text);
        Occurrences& occurrences = found[key];
        constexpr size_t kShown = 3;
        if (occurrences.places.size() < kShown) {
          const LocationRef location = locations_.at(op.location);
          occurrences.places.push_back(location == nullptr
                                           ? fmt::format("byte {}", origin_.base + op.offset)
                                           : fmt::format("byte {} ({})", origin_.base + op.offset,
                                                         escape(location->to_string())));
        }
        ++occurrences.count;
      }
      for (const Block& region : op.regions) self(self, region);
    }
  };
  visit(visit, module.regions[0]);
  if (found.empty()) return;
  std::string list;
  for (const auto& [name, occurrences] : found) {
    list +=
        fmt::format("\n  {}: {} {}, {}", name, occurrences.count,
                    occurrences.count == 1 ? "time" : "times", fmt::join(occurrences.places, ", "));
    if (static_cast<size_t>(occurrences.count) > occurrences.places.size()) list += ", ...";
  }
  throw UserError(origin_.source,
                  found.size() == 1
                      ? "1 operation is not supported:" + list
                      : fmt::format("{} operations are not supported:{}", found.size(), list),
                  "express the program without them");
}

}  // namespace spmd::vhlo
