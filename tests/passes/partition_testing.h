// Programs up to some pass of partitioning.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/pass.h"

namespace spmd::testing {

// A module on a mesh ("\"x\"=2"), from the signature and body of main().
Module sharded_program(const std::string& mesh, const std::string& main);

// Runs the pipeline up to and with the named pass, verifying after each.
Module partitioned_to(const std::string& pass, const Module& module);

// The reshards of main in program order: `tensor<8xf32> [{"x"}] -> [{}]`. Those in loops are
// indented.
std::vector<std::string> reshards_of(const Module& module);

// The collectives of a localised module in program order: kind, axes, executions, bytes sent per
// rank over all of them ("all_gather x 1 96").
std::vector<std::string> sends_of(const Module& module);

}  // namespace spmd::testing
