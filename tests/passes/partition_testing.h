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

// The whole pipeline, and what the program then sends. Its values must be the module's own, within
// `tolerance` relative to each result's largest element.
std::vector<std::string> sent_by(const Module& module, double tolerance = 0);
std::vector<std::string> sent_by(const std::string& mesh, const std::string& main,
                                 double tolerance = 0);
// The same for links without latency, where bytes alone decide.
std::vector<std::string> sent_without_latency(const std::string& mesh, const std::string& main,
                                              double tolerance = 0);

}  // namespace spmd::testing
