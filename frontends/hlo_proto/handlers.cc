#include "frontends/hlo_proto/handlers.h"

#include <unordered_map>

#include "frontends/hlo_proto/manual_computation.h"

namespace spmd::hlo_proto {
namespace {

using Table = std::unordered_map<std::string_view, const Handler*>;

void add(Table& table, std::span<const Handler> handlers) {
  for (const Handler& handler : handlers) table.emplace(handler.opcode, &handler);
}

const Table& opcodes() {
  static const Table table = [] {
    Table all;
    add(all, elementwise_handlers());
    add(all, shape_handlers());
    add(all, contraction_handlers());
    add(all, convolution_handlers());
    add(all, linalg_handlers());
    add(all, reduction_handlers());
    add(all, indexing_handlers());
    add(all, window_handlers());
    add(all, ordering_handlers());
    add(all, random_handlers());
    add(all, control_flow_handlers());
    add(all, collective_handlers());
    add(all, expanded_handlers());
    return all;
  }();
  return table;
}

const Table& custom_calls() {
  static const Table table = [] {
    Table all;
    add(all, custom_call_handlers());
    add(all, manual_handlers());
    return all;
  }();
  return table;
}

const Handler* find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

const Handler* find_handler(std::string_view opcode) { return find(opcodes(), opcode); }
const Handler* find_custom_call(std::string_view target) { return find(custom_calls(), target); }

}  // namespace spmd::hlo_proto
