#include "launcher/unknown_option.h"

#include "support/strings.h"

namespace spmd {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

std::string unknown_option(const std::string& word, const CLI::App& app) {
  const auto near = nearest(word.substr(0, word.find('=')), option_names(app));
  return "unknown option " + word + (near ? "\n  did you mean " + *near + "?" : "");
}

}  // namespace spmd
