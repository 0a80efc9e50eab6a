// The part of an Elementwise step that some of its values need.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// A step over the shape of `step` that computes registers of its program and writes them:
// `outputs` are registers and where they go. Registers in `loads`, inputs or results of
// instructions, are read from there instead of being computed.
plan::Elementwise slice_program(const plan::Elementwise& step,
                                const std::vector<std::pair<int, plan::View>>& outputs,
                                const std::map<int, plan::View>& loads = {});

// The registers that computing `outputs` takes, themselves included, without what those in `loads`
// would take.
std::vector<bool> needed_registers(const plan::Elementwise& step, const std::vector<int>& outputs,
                                   const std::map<int, plan::View>& loads = {});

}  // namespace spmd::codegen
