// Programs before and after passes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace spmd::testing {

// Reads and verifies StableHLO text. Text that is no module is taken as functions, and text that is
// no function as the body of @main(%x0, %x1, ...) with `arguments` as types.
Module program(std::string_view text);
Module program(const std::vector<std::string>& arguments, std::string_view body);

// Runs the pass; the module is verified after it, and what the pass says about having changed the
// module is checked. Returns whether it changed.
bool apply(const Pass& pass, Module& module);

// The printed ops of main without the surrounding lines and indentation.
std::string body_of(const Module& module);

// Runs the pass on a program and expects its printed body, and equal values on random inputs.
// Lines are compared without indentation.
void expect_rewrite(const Pass& pass, Module module, std::string_view expected_body);
// ... and expects that nothing changes.
void expect_unchanged(const Pass& pass, Module module);

// Equal values on random inputs, within `tolerance` relative to each result's largest element.
void expect_same_values(const Module& before, const Module& after, double tolerance = 0);

// Number of ops with that code in main, nested ones included.
int count_ops(const Module& module, OpCode code);

}  // namespace spmd::testing
