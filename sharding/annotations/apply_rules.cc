#include <algorithm>
#include <regex>

#include "ir/describe.h"
#include "sharding/annotations/pattern.h"
#include "sharding/annotations/rules.h"
#include "sharding/drop_placements.h"
#include "support/error.h"
#include "support/names.h"
#include "support/remedy.h"
#include "support/strings.h"

namespace spmd {

namespace {

// Longer names are matched by their end only: std::regex recurses on its input.
constexpr size_t kMaxMatchedName = 2000;

bool ends_with_words(const std::string& name, const std::string& ending) {
  const std::vector<std::string> words = words_of(name), last = words_of(ending);
  return !last.empty() && last.size() <= words.size() &&
         std::equal(last.rbegin(), last.rend(), words.rbegin());
}

class RuleApplication {
 public:
  RuleApplication(Module& module, const ShardingRules& rules)
      : module_(module), fn_(module.main()), rules_(rules) {
    for (const ShardingRule& rule : rules.rules) patterns_.push_back(compile_pattern(rule.match));
    for (size_t i = 0; i < fn_.arguments().size(); ++i) {
      names_.push_back(name_of_argument(fn_, i));
    }
    matched_.assign(rules.rules.size(), false);
    input_of_.assign(names_.size(), nullptr);
  }

  std::vector<ParameterSharding> run() {
    check_axes();
    if (rules_.constraints == ShardingRules::Constraints::kDrop) drop_placements(module_);
    bind_inputs();
    std::vector<ParameterSharding> table;
    for (size_t i = 0; i < names_.size(); ++i) table.push_back(decide(i));
    check_all_matched();
    for (size_t i = 0; i < names_.size(); ++i) set_sharding(i, table[i].sharding);
    return table;
  }

 private:
  const Value& argument(size_t i) const { return fn_.value(fn_.arguments()[i]); }

  // Also of rules that no parameter comes to need.
  void check_axes() const {
    for (const auto& rule : rules_.rules) {
      for (const auto& dim : rule.spec) {
        for (const std::string& name : dim) find_axis(name, rule.place);
      }
    }
  }

  void bind_inputs() {
    for (const InputRule& input : rules_.inputs) {
      std::vector<size_t> found;
      for (size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] == input.name) {
          found = {i};
          break;
        }
        if (ends_with_words(names_[i], input.name)) found.push_back(i);
      }
      if (found.empty()) {
        throw UserError(input.place, fmt::format("the program has no input \"{}\"", input.name),
                        input_suggestion(input.name));
      }
      if (found.size() > 1) {
        std::string list;
        for (size_t i : found) list += (list.empty() ? "" : ", ") + names_[i];
        throw UserError(input.place,
                        fmt::format("input \"{}\" may be each of: {}", input.name, list),
                        "write more of the name");
      }
      input_of_[found[0]] = &input;
    }
  }

  // Inputs that the file does not name go by their number.
  std::string input_suggestion(const std::string& text) const {
    std::string unnamed;
    for (size_t i = 0; i < names_.size(); ++i) {
      const ArgumentInfo& info = fn_.argument_info[i];
      if (!info.name.empty() || info.aliased_result >= 0) continue;
      unnamed += fmt::format("{}{} {}", unnamed.empty() ? "" : ", ", names_[i],
                             to_string(argument(i).type));
    }
    if (unnamed.empty()) return suggestion(text);
    return fmt::format(
        "the program does not name its inputs: {}\n"
        "  write the number, for example \"{}\", or export text with "
        "as_text(debug_info=True), which has names",
        unnamed, unnamed.substr(0, unnamed.find(" tensor")));
  }

  // The names nearest to what matched nothing: by spelling, else those that share a word.
  std::string suggestion(const std::string& text) const {
    if (const auto near = nearest(text, names_)) return fmt::format("did you mean \"{}\"?", *near);
    std::string some;
    size_t count = 0;
    const std::vector<std::string> wanted = words_of(text);
    for (int pass = 0; pass < 2 && count == 0; ++pass) {
      for (const std::string& name : names_) {
        const std::vector<std::string> words = words_of(name);
        const bool related =
            pass == 1 || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
              return near_word(word, words);
            });
        if (!related || count == 5) continue;
        some += (count++ == 0 ? "" : ", ") + name;
      }
    }
    return fmt::format("the program has {} parameters, among them: {}", names_.size(), some);
  }

  static bool near_word(const std::string& word, const std::vector<std::string>& words) {
    return word.size() > 1 && nearest(word, words).has_value();
  }

  // A pattern may be written for the name as the file spells it, or for its words joined as paths
  // are: "result[0]['params']['w']" is also "params/w" and "params.w".
  bool matches(size_t rule, const std::string& name) const {
    return found_in(rule, name) || found_in(rule, path_of(name, "/")) ||
           found_in(rule, path_of(name, "."));
  }

  bool found_in(size_t rule, const std::string& name) const {
    const size_t skipped = name.size() > kMaxMatchedName ? name.size() - kMaxMatchedName : 0;
    try {
      return std::regex_search(name.begin() + static_cast<ptrdiff_t>(skipped), name.end(),
                               patterns_[rule]);
    } catch (const std::regex_error& error) {
      throw UserError(rules_.rules[rule].place,
                      fmt::format("matching \"{}\" against \"{}\": {}", rules_.rules[rule].match,
                                  name, error.what()),
                      "write a simpler pattern");
    }
  }

  ParameterSharding decide(size_t i) {
    ParameterSharding result;
    result.name = names_[i];
    result.type = argument(i).type;
    choose(i, result);
    result.bytes_per_rank = byte_size(result.type.dtype);
    for (int64_t d = 0; d < result.type.rank(); ++d) {
      const int64_t shards = num_shards(result.sharding, d, module_.mesh);
      result.bytes_per_rank *= (result.type.dim(d) + shards - 1) / shards;
    }
    return result;
  }

  void choose(size_t i, ParameterSharding& result) {
    if (const InputRule* input = input_of_[i]) {
      result.sharding = sharding_of(input->spec, i, input->place);
      result.source = fmt::format("{} input {}", input->place, input->name);
      return;
    }
    const ShardingRef& own = argument(i).sharding;
    for (size_t r = 0; r < rules_.rules.size(); ++r) {
      const ShardingRule& rule = rules_.rules[r];
      if (!matches(r, names_[i])) continue;
      matched_[r] = true;
      if (rule.is_default && own != nullptr) break;
      result.sharding = sharding_of(rule.spec, i, rule.place);
      result.source = fmt::format("{} {}", rule.place, rule.match);
      return;
    }
    if (own != nullptr) {
      result.sharding = *own;
      result.source = "file";
      return;
    }
    const bool scalar = result.type.rank() == 0;
    if (!scalar && !rules_.rules.empty()) {
      throw UserError(
          rules_.rules.back().place,
          fmt::format("no rule matches parameter \"{}\" {}", names_[i], to_string(result.type)),
          "add a rule for it, or a last one: {match: '.*', spec: [], default: true}");
    }
    result.sharding = Sharding::replicate(result.type.rank(), /*open=*/!scalar);
    result.source = scalar ? "replicated scalar" : "propagation";
  }

  Sharding sharding_of(const DimAxes& spec, size_t i, const std::string& place) const {
    const TensorType& type = argument(i).type;
    if (static_cast<int64_t>(spec.size()) > type.rank()) {
      throw UserError(place,
                      fmt::format("the spec has {} entr{}, parameter \"{}\" {} has {} dimension{}",
                                  spec.size(), spec.size() == 1 ? "y" : "ies", names_[i],
                                  to_string(type), type.rank(), type.rank() == 1 ? "" : "s"),
                      "write one entry for each dimension, or a rule of its own for this "
                      "parameter before this one");
    }
    Sharding sharding = Sharding::replicate(type.rank());
    for (size_t d = 0; d < spec.size(); ++d) {
      for (const std::string& name : spec[d]) {
        sharding.dims[d].axes.push_back({find_axis(name, place), 1, 0});
      }
    }
    with_remedy("use each axis once in a spec", [&] {
      check_sharding(sharding, type.rank(), module_.mesh,
                     fmt::format("{}: parameter \"{}\"", place, names_[i]));
    });
    return sharding;
  }

  int find_axis(const std::string& name, const std::string& place) const {
    if (const auto axis = module_.mesh.find_axis(name)) return *axis;
    std::vector<std::string> names;
    for (const MeshAxis& axis : module_.mesh.axes()) names.push_back(axis.name);
    const auto near = nearest(name, names);
    throw UserError(place,
                    fmt::format("the mesh {} has no axis \"{}\"",
                                names.empty() ? "without axes" : module_.mesh.to_string(), name),
                    near ? fmt::format("did you mean \"{}\"?", *near)
                         : "name an axis of the mesh, or add it to the mesh");
  }

  void check_all_matched() const {
    for (size_t r = 0; r < matched_.size(); ++r) {
      if (matched_[r] || rules_.rules[r].is_default) continue;
      const ShardingRule& rule = rules_.rules[r];
      for (size_t i = 0; i < names_.size(); ++i) {
        if (!matches(r, names_[i])) continue;
        throw UserError(rule.place,
                        fmt::format("rule \"{}\" never holds: what it matches, as \"{}\", another "
                                    "rule or input names first",
                                    rule.match, names_[i]),
                        "move it up, or remove it");
      }
      throw UserError(rule.place, fmt::format("rule \"{}\" matches no parameter", rule.match),
                      suggestion(rule.match));
    }
  }

  void set_sharding(size_t i, const Sharding& sharding) {
    const auto shared = std::make_shared<const Sharding>(sharding);
    fn_.value(fn_.arguments()[i]).sharding = shared;
    const int result = fn_.argument_info[i].aliased_result;
    if (result >= 0 && static_cast<size_t>(result) < fn_.result_info.size()) {
      fn_.result_info[static_cast<size_t>(result)].sharding = shared;
    }
  }

  Module& module_;
  Function& fn_;
  const ShardingRules& rules_;
  std::vector<std::regex> patterns_;  // of the rules
  std::vector<std::string> names_;    // of the arguments
  std::vector<bool> matched_;         // rules
  std::vector<const InputRule*> input_of_;
};

}  // namespace

std::vector<ParameterSharding> apply_rules(Module& module, const ShardingRules& rules) {
  return RuleApplication(module, rules).run();
}

std::string to_string(const std::vector<ParameterSharding>& table, const Mesh& mesh) {
  size_t name_width = 0, type_width = 0, spec_width = 0;
  for (const ParameterSharding& row : table) {
    name_width = std::max(name_width, row.name.size());
    type_width = std::max(type_width, to_string(row.type).size());
    spec_width = std::max(spec_width, row.sharding.to_string(mesh).size());
  }
  std::string text;
  for (const ParameterSharding& row : table) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>10}  {}\n", row.name, name_width,
                        to_string(row.type), type_width, row.sharding.to_string(mesh), spec_width,
                        human_bytes(static_cast<double>(row.bytes_per_rank)), row.source);
  }
  return text;
}

}  // namespace spmd
