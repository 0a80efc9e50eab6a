// What is said of a word that no option of a command has the name of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace spmd {

// As they are written: "--steps", "-o".
std::vector<std::string> option_names(const CLI::App& app);

// "unknown option --stat", and in a second line "did you mean --state?" where there is one so near.
std::string unknown_option(const std::string& word, const CLI::App& app);

}  // namespace spmd
