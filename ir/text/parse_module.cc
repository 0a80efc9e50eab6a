#include <algorithm>
#include <set>

#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd {

Module parse_stablehlo(std::string_view text, const std::string& source) {
  return text::Parser(text, source).parse();
}

namespace text {

Module Parser::parse() {
  scan_lines();
  const auto skip_aliases = [&] {
    while (scan_.peek() == '#' || scan_.peek() == '!') {
      scan_.seek(std::min(text_.find('\n', scan_.position()), text_.size()));
    }
  };
  skip_aliases();
  if (scan_.at_end()) {
    throw UserError(source_, "the file has no program", "expected StableHLO text");
  }
  if (scan_.peek("\"builtin.module\"")) {
    parse_generic_module();
  } else {
    parse_pretty_module();
  }
  skip_aliases();
  if (scan_.accept("{-#")) {
    const size_t end = text_.find("#-}", scan_.position());
    if (end == std::string_view::npos) scan_.fail_expected("the end of the resources, #-}");
    scan_.seek(end + 3);
  }
  if (!scan_.at_end()) scan_.fail_expected("the end of the file");
  return finish_module();
}

// `module @m attributes {...} { ... }`, or functions alone.
void Parser::parse_pretty_module() {
  Dict attributes;
  const bool wrapped = scan_.accept_word("module") || scan_.accept_word("builtin.module");
  if (wrapped) {
    if (scan_.accept("@")) module_.name = parse_symbol();
    if (scan_.accept_word("attributes")) parse_dict(attributes);
    scan_.expect("{");
  }
  find_mesh(attributes);
  parse_module_body(wrapped);
  if (!wrapped) return;
  scan_.expect("}");
  if (scan_.accept_word("loc")) parse_location();
}

// Notes where meshes are declared: the op's name, bare or quoted, where an op can begin.
void Parser::scan_meshes() {
  constexpr std::string_view kOp = "sdy.mesh";
  for (size_t at = text_.find(kOp); at != std::string_view::npos; at = text_.find(kOp, at + 1)) {
    const size_t end = at + kOp.size();
    const bool quoted = at > 0 && text_[at - 1] == '"' && end < text_.size() && text_[end] == '"';
    const bool bare = end < text_.size() && std::isspace(static_cast<unsigned char>(text_[end]));
    if (!quoted && !bare) continue;
    const size_t begin = quoted ? at - 1 : at;
    const size_t before = text_.substr(0, begin).find_last_not_of(" \t");
    if (before != std::string_view::npos && text_[before] != '\n' && text_[before] != '{' &&
        text_[before] != '>')
      continue;
    mesh_positions_.push_back(begin);
  }
}

// Notes what may be used before it is defined: aliases, meshes, resources.
void Parser::scan_lines() {
  scan_meshes();
  for (size_t line = 0; line < text_.size();) {
    const size_t end = std::min(text_.find('\n', line), text_.size());
    size_t at = line;
    while (at < end && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    scan_.seek(at);
    if (at < end && (text_[at] == '#' || text_[at] == '!') && at + 1 < end) {
      scan_.seek(at + 1);
      const size_t name_end = text_.find_first_of(" =", at + 1);
      if (name_end < end && name_end > at + 1) {
        const std::string_view name = text_.substr(at + 1, name_end - at - 1);
        scan_.seek(name_end);
        if (scan_.accept("=")) aliases_.emplace(name, scan_.position());
      }
    } else if (text_.substr(at, 3) == "{-#") {
      scan_resources();
    }
    line = end + 1;
  }
  scan_.seek(text_.starts_with("\xef\xbb\xbf") ? 3 : 0);  // after a byte order mark
}

// `{-# dialect_resources: { builtin: { name: "0x04000000..." } } #-}`
void Parser::scan_resources() {
  scan_.expect("{-#");
  int open = 0;
  std::string key;
  while (!scan_.peek("#-}")) {
    if (scan_.at_end()) scan_.fail_expected("the end of the resources, #-}");
    if (scan_.accept("{")) {
      ++open;
    } else if (scan_.accept("}")) {
      --open;
    } else if (scan_.accept(":") || scan_.accept(",")) {
      continue;
    } else if (scan_.peek_string()) {
      const size_t position = scan_.position();
      const std::string_view value = scan_.expect_raw_string();
      if (open == 2 && value.starts_with("0x") && !key.empty()) {
        resources_.emplace(key, position);
      } else {
        key = unescape(value);
      }
    } else {
      key = scan_.expect_suffix("the name of a resource");
    }
  }
}

std::pair<std::string, Mesh> Parser::parse_mesh() {
  scan_.expect_word("sdy.mesh");
  scan_.expect("@");
  std::string name = parse_symbol();
  scan_.expect("=");
  return {std::move(name), scan_mesh(scan_)};
}

// Declares the meshes of the file and chooses the one that the module has.
void Parser::find_mesh(const Dict& attributes) {
  const size_t begin = scan_.position();
  for (size_t position : mesh_positions_) {
    scan_.seek(position);
    auto [name, mesh] = scan_.peek_string() ? parse_generic_mesh() : parse_mesh();
    declare_mesh(name, std::move(mesh));
  }
  scan_.seek(begin);
  if (choose_mesh(attributes) || find_program_grid()) return;
  derive_mesh(attributes, find_hlo_shardings(), has_device_groups());
}

// The mesh of a module that runs programs on a grid: `programs = [[@f, @f], [@f, @f]]` are two
// replicas of two partitions.
bool Parser::find_program_grid() {
  size_t at = text_.find("interpreter.run_parallel");
  if (at != std::string_view::npos) at = text_.find("programs", at);
  if (at == std::string_view::npos) return false;
  const size_t begin = scan_.position();
  scan_.seek(at + 8);
  const bool assigned = scan_.accept("=");
  const Attribute grid = assigned ? parse_attribute() : Attribute();
  scan_.seek(begin);
  if (grid.kind != Attribute::Kind::kArray || grid.elements.empty()) return false;
  replicas_ = static_cast<int64_t>(grid.elements.size());
  const auto partitions = static_cast<int64_t>(grid.elements[0].elements.size());
  constexpr int64_t kMost = 1 << 16;
  if (partitions < 1 || partitions > kMost || replicas_ > kMost) return false;
  module_.mesh = Mesh({{"replica", replicas_}, {"partition", partitions}});
  meshes_.emplace("mesh", module_.mesh);
  return true;
}

// The text of every HLO sharding.
std::set<std::string> Parser::find_hlo_shardings() const {
  constexpr std::string_view kKey = "mhlo.sharding = \"";
  std::set<std::string> texts;
  for (size_t at = text_.find(kKey); at != std::string_view::npos; at = text_.find(kKey, at)) {
    at += kKey.size();
    const size_t end = std::min(text_.find('"', at), text_.size());
    texts.insert(unescape(text_.substr(at, end - at)));
  }
  return texts;
}

bool Parser::has_device_groups() const {
  return text_.find("replica_groups") != std::string_view::npos ||
         text_.find("source_target_pairs") != std::string_view::npos;
}

void Parser::parse_module_body(bool wrapped) {
  while (!scan_.at_end() && !(wrapped && scan_.peek("}"))) {
    if (scan_.peek_word("func.func")) {
      parse_function();
    } else if (scan_.peek_word("sdy.mesh")) {
      parse_mesh();
      Dict ignored;
      if (scan_.peek("{")) parse_dict(ignored);
      if (scan_.accept_word("loc")) parse_location();
    } else if (scan_.accept("\"sdy.mesh\"")) {
      parse_generic_head();
      parse_generic_tail();
    } else if (!wrapped && (scan_.peek() == '#' || scan_.peek() == '!' || scan_.peek("{-#"))) {
      return;
    } else {
      const size_t position = scan_.position();
      if (const auto word = scan_.accept_word();
          word && word->find('.') != std::string_view::npos) {
        throw_unsupported(*word, position);
      }
      scan_.seek(position);
      scan_.fail_expected("func.func or sdy.mesh");
    }
  }
}

void Parser::begin_function(const std::string& name, size_t position, bool is_private) {
  ModuleBuilder::begin_function(name, position, is_private);
  values_.shrink(0);
  pool_.clear();
}

void Parser::parse_function() {
  scan_.expect_word("func.func");
  const bool is_private = scan_.accept_word("private");
  if (!is_private && !scan_.accept_word("public")) scan_.accept_word("nested");
  scan_.skip_blanks();
  const size_t start = scan_.position();
  scan_.expect("@");
  const std::string name = parse_symbol();
  begin_function(name, start, is_private);
  std::vector<Dict> arguments, results;
  std::vector<std::string> locations;
  parse_arguments(fn_->body(), arguments, locations);
  std::vector<TensorType> result_types;
  if (scan_.accept("->")) result_types = parse_results(results);
  Dict ignored;
  if (scan_.accept_word("attributes")) parse_dict(ignored);
  if (!scan_.peek("{")) scan_.fail(start, fmt::format("@{} has no body", name));
  const size_t open = scan_.position();
  scan_.expect("{");
  parse_block(fn_->body(), open);
  if (scan_.accept_word("loc")) parse_location();
  check_returned(result_types, open);
  results.resize(result_types.size());
  set_argument_info(arguments, locations, results);
}

void Parser::parse_arguments(BlockId body, std::vector<Dict>& attributes,
                             std::vector<std::string>& locations) {
  scan_.expect("(");
  while (!scan_.peek(")")) {
    const std::vector<ValueId> leaves = parse_block_argument(body);
    Dict given;
    if (scan_.peek("{")) parse_dict(given);
    std::string location;
    if (scan_.accept_word("loc")) {
      if (const LocationRef found = parse_location()) location = found->name;
    }
    for (ValueId value : leaves) {
      attributes.push_back(given);
      locations.push_back(location);
      fn_->value(value).sharding = sharding_of(given, fn_->type(value).rank());
    }
    if (!scan_.accept(",")) break;
  }
  scan_.expect(")");
}

std::vector<TensorType> Parser::parse_results(std::vector<Dict>& attributes) {
  std::vector<TensorType> types;
  if (!scan_.accept("(")) {
    parse_leaves(types);
    return types;
  }
  while (!scan_.peek(")")) {
    parse_leaves(types);
    Dict given;
    if (scan_.peek("{")) parse_dict(given);
    attributes.resize(types.size(), given);
    if (!scan_.accept(",")) break;
  }
  scan_.expect(")");
  return types;
}

void Parser::check_returned(const std::vector<TensorType>& results, size_t position) {
  check_terminator(position);
  const ValueIds& returned = fn_->results();
  bool equal = returned.size() == results.size();
  for (size_t i = 0; equal && i < results.size(); ++i) equal = fn_->type(returned[i]) == results[i];
  if (!equal) {
    scan_.fail(position, fmt::format("@{} returns other types than it declares", fn_->name()));
  }
}

}  // namespace text
}  // namespace spmd
