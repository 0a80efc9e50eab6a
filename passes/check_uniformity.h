// check_uniformity: what all devices have to do alike.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: refuses, as UserErrors, programs of which devices would run different parts and wait for
// each other for ever, or in which a number of a device has no meaning:
//  - a branch or loop whose condition is made of the device's number along an axis, and that has a
//    collective among devices along that axis;
//  - a partition_id outside of manual computations, on a mesh of several devices.
// Assumes: calls are inlined. Changes nothing.
// Here: before anything rewrites what the messages name.
Pass check_uniformity_pass();

}  // namespace spmd
