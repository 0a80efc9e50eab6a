#include "launcher/config.h"

#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

// What is read prints as something that can be read.
void read_config(std::string_view bytes) {
  const RunConfig config = parse_run_config(bytes, "fuzz");
  const std::string printed = print_config(config);
  try {
    parse_run_config(printed, "printed");
  } catch (const UserError& error) {
    throw InternalError(std::string("what was printed cannot be read: ") + error.what());
  }
}

std::vector<std::string> config_seeds() {
  return {
      "mesh: {axes: {data: -1, model: 2}, order: [model, data]}\n"
      "sharding:\n"
      "  rules:\n"
      "    - {match: 'attn/.*/kernel', spec: [null, [data, model]]}\n"
      "    - {match: '.*', spec: [], default: true}\n"
      "  inputs: {ids: [data, null]}\n"
      "  constraints: drop\n",
      "mesh: data=2,model=4\nstate: a.safetensors\nbatches: b.safetensors\nout: c\n"
      "report: d\nlog: {every: 10, jsonl: m.jsonl, progress: off}\ntrain: {steps: 3}\n",
      "data:\n  path: b.safetensors\n"};
}

}  // namespace

FuzzTarget config_target() {
  return {"config",
          read_config,
          config_seeds,
          {"mesh:", "axes:",    "sharding:", "rules:",      "match:",
           "spec:", "inputs:",  "state:",    "train:",      "steps:",
           "log:",  "every:",   "- ",        "&a",          "*a",
           "<<:",   "!!binary", "null",      "[",           "]",
           "{",     "}",        "(?:",       "[[:alpha:]]", "99999999999999999999"}};
}

}  // namespace spmd::testing
