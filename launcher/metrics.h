// Metrics: the scalar results of a program that no argument takes over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace spmd {

// Names for the metrics of a plan, given as results. A result called "result[1]['train/loss']" is
// "train/loss", "result[1].aux['z']" is "aux/z"; a single one without a name is "loss", of several
// each is "result[i]". Names are distinct.
std::vector<std::string> name_metrics(const plan::Plan& plan, const std::vector<int>& results);

// The part of a result's name that names a metric, or nothing.
std::string metric_name(std::string_view result_name);

// One line of metrics.jsonl, without the newline: {"step":0,"loss":2.5}. Numbers that JSON cannot
// write are the strings "NaN", "Infinity" and "-Infinity"; bytes of names that are no UTF-8 become
// U+FFFD.
std::string metrics_line(int64_t step, const std::vector<std::string>& names,
                         const std::vector<double>& values);

}  // namespace spmd
