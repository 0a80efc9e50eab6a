// Modules, functions and meshes in generic form, as `mlir-opt --mlir-print-op-generic` prints them.
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

// `"builtin.module"() <{sym_name = "m"}> ({ ... }) {attributes} : () -> ()`
void Parser::parse_generic_module() {
  scan_.expect("\"builtin.module\"");
  const Dict properties = parse_generic_head();
  module_.name = reader(properties, "module", 0).string_or("sym_name", module_.name);
  find_mesh({});
  scan_.expect("(");
  scan_.expect("{");
  if (scan_.accept("^")) {
    scan_.expect_suffix("the name of a block");
    scan_.expect(":");
  }
  while (!scan_.accept("}")) {
    if (scan_.peek("\"func.func\"")) {
      parse_generic_function();
    } else if (scan_.accept("\"sdy.mesh\"")) {
      parse_generic_head();
      parse_generic_tail();
    } else {
      scan_.fail_expected("\"func.func\" or \"sdy.mesh\"");
    }
  }
  scan_.expect(")");
  parse_generic_tail();
}

// `() <{...}>`
Dict Parser::parse_generic_head() {
  Dict properties;
  scan_.expect("(");
  scan_.expect(")");
  if (scan_.accept("<")) {
    parse_dict(properties);
    scan_.expect(">");
  }
  return properties;
}

// `{...} : () -> () loc(...)`
Dict Parser::parse_generic_tail() {
  Dict attributes;
  if (scan_.peek("{")) parse_dict(attributes);
  parse_signature();
  if (scan_.accept_word("loc")) parse_location();
  return attributes;
}

// The mesh of `"sdy.mesh"() <{mesh = #sdy.mesh<...>, sym_name = "mesh"}> : () -> ()`.
std::pair<std::string, Mesh> Parser::parse_generic_mesh() {
  scan_.expect("\"sdy.mesh\"");
  scan_.skip_blanks();
  const size_t start = scan_.position();
  Dict properties = parse_generic_head();
  if (properties.empty()) properties = parse_generic_tail();
  const AttributeReader from = reader(properties, "sdy.mesh", start);
  const Attribute& mesh = from.get("mesh");
  if (mesh.kind != Kind::kShardings) from.fail(mesh, "mesh", "#sdy.mesh<...>");
  return {from.string_or("sym_name", "mesh"), mesh.shardings[0].mesh};
}

namespace {

// Element i of a list of dictionaries.
Dict entry_of(const AttributeReader& from, std::string_view name, size_t index) {
  const Attribute* list = from.find(name);
  if (list == nullptr || index >= list->elements.size()) return {};
  return list->elements[index].entries;
}

}  // namespace

// `"func.func"() <{arg_attrs = [...], function_type = ..., res_attrs = [...], sym_name = "main"}>
// ({ ^bb0(%arg0: T): ... }) : () -> ()`. What it returns is what its body does.
void Parser::parse_generic_function() {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  scan_.expect("\"func.func\"");
  const Dict properties = parse_generic_head();
  const AttributeReader from = reader(properties, "func.func", start);
  begin_function(from.string_or("sym_name", ""), start,
                 from.string_or("sym_visibility", "") == "private");
  scan_.expect("(");
  scan_.skip_blanks();
  const size_t open = scan_.position();
  scan_.expect("{");
  std::vector<Dict> arguments, results;
  std::vector<std::string> locations;
  if (scan_.accept("^")) {
    scan_.expect_suffix("the name of a block");
    if (scan_.peek("(")) parse_arguments(fn_->body(), arguments, locations);
    scan_.expect(":");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    arguments[i] = entry_of(from, "arg_attrs", i);
    Value& value = fn_->value(fn_->arguments()[i]);
    value.sharding = sharding_of(arguments[i], value.type.rank());
  }
  parse_block(fn_->body(), open);
  scan_.expect(")");
  parse_generic_tail();
  check_terminator(open);
  for (size_t i = 0; i < fn_->results().size(); ++i) {
    results.push_back(entry_of(from, "res_attrs", i));
  }
  set_argument_info(arguments, locations, results);
}

}  // namespace spmd::text
