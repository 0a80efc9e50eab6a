#include <nlohmann/json.hpp>

#include "launcher/report.h"
#include "launcher/text_table.h"
#include "support/error.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShortTable = 20;

std::string bytes(const Json& value) { return human_bytes(value.get<double>()); }
std::string count(const Json& value) { return with_thousands(value.get<int64_t>()); }
std::string text(const Json& value) { return value.get<std::string>(); }

std::string mesh_text(const Json& mesh) {
  std::string line;
  for (const auto& [name, size] : mesh.items()) {
    line += fmt::format("{}{}={}", line.empty() ? "" : ",", name, size.get<int64_t>());
  }
  return line.empty() ? "none" : line;
}

std::string head(const Json& report) {
  const Json& memory = report["memory"];
  const int64_t ranks = report["ranks"].get<int64_t>();
  std::string lines = fmt::format("program       {}\n", text(report["program"]));
  lines += fmt::format("mesh          {}, {} rank{}\n", mesh_text(report["mesh"]), ranks,
                       ranks == 1 ? "" : "s");
  lines += fmt::format("compiled in   {:.0f} ms", report["compile_ms"].get<double>());
  if (report.contains("compile_share"))
    lines += fmt::format(", {:.1f} % of the run", 100 * report["compile_share"].get<double>());
  lines += "\n";
  const bool ran = memory.contains("workspace_bytes");
  lines += fmt::format(
      "memory/rank   {}: state {}, inputs {}, results {}, constants {}, temporaries {}, {}\n",
      bytes(report["peak_memory_bytes"]), bytes(memory["state_bytes"]),
      bytes(memory["input_bytes"]), bytes(memory["result_bytes"]), bytes(memory["constant_bytes"]),
      bytes(memory["temporary_bytes"]),
      ran ? "workspace " + bytes(memory["workspace_bytes"]) : "workspace not counted");
  const Json& uses = report["memory_by_use"];
  lines += fmt::format(
      "of which      parameters {}, optimizer {}; at the peak activations {}, gradients {}, "
      "temporaries {}, communication {}, gaps {}\n",
      bytes(uses["parameter_bytes"]), bytes(uses["optimizer_bytes"]),
      bytes(uses["activation_bytes"]), bytes(uses["gradient_bytes"]),
      bytes(uses["temporary_bytes"]), bytes(uses["communication_bytes"]), bytes(uses["gap_bytes"]));
  if (!text(uses["peak_op"]).empty())
    lines += fmt::format("peak          at {}\n", text(uses["peak_op"]));
  lines += fmt::format("sent/rank     {} bytes a step\n", count(report["bytes_sent_per_step"]));
  lines +=
      fmt::format("work/rank     {:.4g} FLOPs a step, {:.3f} of an equal share\n",
                  report["flops_per_rank"].get<double>(), report["replicated_flops"].get<double>());
  lines += fmt::format("full remats   {}\n", report["full_rematerializations"].get<int64_t>());
  return lines;
}

std::string collectives(const Json& report, bool all) {
  if (report["collectives"].empty()) return "collectives   none\n";
  const bool timed = report.contains("steps");
  std::vector<std::string> titles = {"kind", "axes", ">count", ">bytes sent", timed ? ">ms" : ""};
  if (timed) titles.push_back(">exposed");
  titles.push_back("largest is from");
  TextTable table(std::move(titles));
  const auto ms = [](const Json& value) { return fmt::format("{:.3f}", value.get<double>()); };
  for (const Json& row : report["collectives"]) {
    std::vector<std::string> cells = {text(row["kind"]), text(row["axes"]), count(row["count"]),
                                      count(row["bytes"]), timed ? ms(row["ms"]) : ""};
    if (timed) cells.push_back(ms(row["exposed_ms"]));
    cells.push_back(text(row["op"]));
    table.add(std::move(cells));
  }
  return "collectives per step\n" + table.to_string(all ? 0 : kShortTable);
}

// The first step pays for cold caches; where there are others, the table is about them.
std::string steps(const Json& report) {
  const Json& steps = report["steps"];
  if (steps.empty()) return "";
  TextTable table({"", ">first", ">mean", ">least", ">most"});
  for (const char* key : {"step_ms", "compute_ms", "comm_ms", "exposed_ms"}) {
    double sum = 0, least = 1e300, most = 0;
    const size_t from = steps.size() > 1 ? 1 : 0;
    for (size_t i = from; i < steps.size(); ++i) {
      const double value = steps[i][key].get<double>();
      sum += value;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const auto cell = [](double value) { return fmt::format("{:.3f}", value); };
    table.add({std::string(key, std::string_view(key).size() - 3),
               cell(steps[0][key].get<double>()),
               cell(sum / static_cast<double>(steps.size() - from)), cell(least), cell(most)});
  }
  return fmt::format("{} step{}, ms (mean, least, most without the first)\n", steps.size(),
                     steps.size() == 1 ? "" : "s") +
         table.to_string();
}

int64_t sum(const Json& rows, const char* key) {
  int64_t total = 0;
  for (const Json& row : rows) total += row[key].get<int64_t>();
  return total;
}

std::string arguments(const Json& report, bool all) {
  const Json& rows = report["arguments"];
  TextTable table({"argument", "role", "type", "sharding", ">bytes/rank", ">replicated", "from"});
  for (const Json& row : rows) {
    table.add({text(row["name"]), text(row["role"]), text(row["type"]), text(row["sharding"]),
               count(row["bytes_per_rank"]), count(row["replicated_bytes"]), text(row["from"])});
  }
  return fmt::format("arguments: {} bytes a rank, {} of them beyond an equal share\n",
                     with_thousands(sum(rows, "bytes_per_rank")),
                     with_thousands(sum(rows, "replicated_bytes"))) +
         table.to_string(all ? 0 : kShortTable);
}

std::string transfers(const Json& report, bool all) {
  if (report["transfers"].empty()) return "";
  TextTable table({"kind", "axes", ">count", ">bytes sent", "moves"});
  for (const Json& row : report["transfers"]) {
    table.add({text(row["kind"]), text(row["axes"]), count(row["count"]), count(row["bytes"]),
               text(row["reason"])});
  }
  return "what they are for, the largest first\n" + table.to_string(all ? 0 : kShortTable);
}

std::string values(const Json& report) {
  TextTable table({"value", "type", "sharding", "from"});
  for (const Json& row : report["values"]) {
    table.add({text(row["value"]), text(row["type"]), text(row["sharding"]), text(row["from"])});
  }
  return "values as propagation placed them\n" + table.to_string();
}

std::string ops(const Json& report, bool all) {
  TextTable table({"op", ">count"});
  for (const auto& [name, uses] : report["ops"].items()) table.add({name, count(uses)});
  return fmt::format("ops: all {} kinds are supported\n", table.rows()) +
         (all ? table.to_string() : "");
}

std::string remarks(const Json& report, bool all) {
  std::string lines;
  size_t shown = 0;
  for (const Json& row : report["remarks"]) {
    if (!all && ++shown > kShortTable) {
      return lines + fmt::format("  ... and {} more\n", report["remarks"].size() - kShortTable);
    }
    lines += fmt::format("  {}: {}\n", text(row["place"]), text(row["text"]));
  }
  return lines.empty() ? "" : "remarks\n" + lines;
}

}  // namespace

std::string report_text(const Json& report, bool all) {
  std::string lines = head(report);
  if (report.contains("predicted")) {
    const Json& predicted = report["predicted"];
    lines += fmt::format("predicted     {:.3g} ms computing, {:.3g} ms communicating a step\n",
                         predicted["compute_ms"].get<double>(), predicted["comm_ms"].get<double>());
  }
  if (report.contains("ops")) lines += ops(report, all);
  lines += collectives(report, all);
  if (report.contains("transfers")) lines += transfers(report, all);
  if (report.contains("arguments")) lines += arguments(report, all);
  if (report.contains("values")) lines += values(report);
  if (report.contains("steps")) lines += steps(report);
  if (report.contains("remarks")) lines += remarks(report, all);
  return printable(lines);
}

}  // namespace spmd
