// From a program's file to its Plan, as a user sees it: with progress and remarks.
#pragma once

#include <string>

#include "launcher/config.h"
#include "launcher/terminal.h"
#include "passes/compile.h"

namespace spmd {

// Whether `bytes` begin like a saved Plan.
bool is_plan(std::string_view bytes);

// A Plan is complete: nothing about its placement can change. Throws UserError when `config` asks
// for a mesh or shardings.
void check_plan_options(const std::string& path, const RunConfig& config);

// Gives the program its mesh and the shardings that the configuration asks for; returns what its
// rules decided for each argument, nothing where it has none. Throws UserError.
std::vector<ParameterSharding> place_program(Module& module, const Mesh& mesh,
                                             const RunConfig& config);

// "place: text [pass]"
std::string to_string(const Remark& remark);

// What --explain takes.
inline constexpr const char* kExplainFusion = "fusion";

// What has been fused, largest savings first, for a terminal.
std::string explain_fusion(const CompileResult& result);

// passes/compile.h, and every step has a kernel (UserError otherwise), with a progress bar on a
// terminal and, if `verbose`, the passes' times and the remarks on standard output.
CompileResult compile_program(Module module, Terminal terminal, bool verbose,
                              const CompileOptions& options = {});

}  // namespace spmd
