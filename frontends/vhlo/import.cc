#include "frontends/vhlo/import.h"

#include "frontends/vhlo/importer.h"
#include "frontends/vhlo/names.h"
#include "frontends/vhlo/rewrite.h"
#include "support/remedy.h"

namespace spmd {
namespace vhlo {

using mlir_bytecode::Container;
using mlir_bytecode::Origin;
using text::Attribute;
using Kind = Attribute::Kind;

Importer::Importer(const Origin& origin, const Container& container)
    : text::ModuleBuilder(origin.source),
      origin_(origin),
      container_(container),
      types_(origin, container),
      attributes_(origin, container, types_, mesh_lookup()),
      locations_(origin, container, attributes_),
      program_(mlir_bytecode::read_operations(origin, container)),
      values_(program_.num_values) {
  names_.reserve(container.op_names.size());
  for (const mlir_bytecode::OpName& name : container.op_names) {
    std::optional<std::string> text;
    if (name.dialect == "vhlo") text = stablehlo_name(name.name);
    if (!text) text = fmt::format("{}.{}", name.dialect, name.name);
    names_.push_back({std::move(*text), property_names(name.dialect, name.name)});
  }
  Location unknown;
  unknown.file = origin.source;
  unknown_location_ = std::make_shared<const Location>(std::move(unknown));
}

Module Importer::import() {
  check_dialects();
  const Operation& module = module_operation();
  check_sizes(module);
  check_supported(module);
  find_meshes(module);
  for (const Operation& op : module.regions[0].operations) {
    if (name_of(op).text == "stablehlo.func") import_function(op);
  }
  return finish_module([&](const Function& fn, OpId op) { return place_of(fn, op); });
}

// Bytecode of StableHLO itself is not made to be kept: its encoding follows the producer's version.
void Importer::check_dialects() const {
  for (const std::string_view dialect : container_.dialects) {
    if (dialect == "vhlo") return;
  }
  origin_.fail(0,
               fmt::format("the bytecode holds the dialects {}, expected vhlo",
                           escape(fmt::format("{}", fmt::join(container_.dialects, ", ")))),
               "write it as a portable artifact: stablehlo-translate --serialize "
               "--target=current, or as text");
}

const mlir_bytecode::Operation& Importer::module_operation() const {
  if (program_.operations.size() != 1 || name_of(program_.operations[0]).text != "builtin.module" ||
      program_.operations[0].regions.size() != 1) {
    origin_.fail(0, "the bytecode holds no module");
  }
  return program_.operations[0];
}

void Importer::find_meshes(const Operation& module) {
  const Dict attributes = attributes_of(module);
  module_.name = reader(attributes, "module", module.offset).string_or("sym_name", module_.name);
  // All meshes first: other attributes name them.
  for (const Operation& op : module.regions[0].operations) {
    if (name_of(op).text != "sdy.mesh") continue;
    const Dict found = attributes_of(op);
    const text::AttributeReader from = reader(found, "sdy.mesh", op.offset);
    const Attribute& mesh = from.get("mesh");
    if (mesh.kind != Kind::kShardings) from.fail(mesh, "mesh", "#sdy.mesh<...>");
    declare_mesh(from.string_or("sym_name", "mesh"), mesh.shardings[0].mesh);
  }
  if (choose_mesh(attributes)) return;
  find_hlo_shardings(module.regions[0]);
  derive_mesh(attributes, hlo_shardings_, has_groups_);
}

// The shardings of a module without a mesh, from which its mesh follows.
void Importer::find_hlo_shardings(const Block& block) {
  const auto note = [&](const Dict& dict) {
    for (const text::NamedAttribute& entry : dict) {
      if (entry.name == "mhlo.sharding" && entry.value.kind == Kind::kString) {
        hlo_shardings_.insert(entry.value.string);
      }
      has_groups_ |= entry.name == "replica_groups" || entry.name == "source_target_pairs";
    }
  };
  for (const Operation& op : block.operations) {
    const Dict attributes = attributes_of(op);
    note(attributes);
    for (const text::NamedAttribute& entry : attributes) {
      if (entry.name != "arg_attrs" && entry.name != "res_attrs") continue;
      for (const Attribute& element : entry.value.elements) note(element.entries);
    }
    for (const Block& region : op.regions) find_hlo_shardings(region);
  }
}

std::string Importer::place_of(const Function& fn, OpId op) const {
  const auto function = module_.find_function(fn.name());
  if (!function || static_cast<size_t>(*function) >= sources_.size()) return "";
  const auto& sources = sources_[static_cast<size_t>(*function)];
  return index_of(op) < sources.size() && sources[index_of(op)] != nullptr
             ? place(sources[index_of(op)]->offset)
             : "";
}

std::string Importer::place(size_t position) const {
  const size_t offset = position == 0 ? current_ : position;
  const std::string place = origin_.place(offset);
  const auto found = placed_.find(offset);
  if (found == placed_.end() || found->second == nullptr) return place;
  return fmt::format("{} ({})", place, found->second->to_string());
}

std::string Importer::found(const Attribute& attribute) const {
  constexpr size_t kMost = 60;
  const std::string text = attribute_text(attribute);
  return fmt::format("'{}'", text.size() <= kMost ? text : text.substr(0, kMost) + "...");
}

namespace {

constexpr std::string_view kOldest = "0.9.0", kNewest = "1.22.0";

constexpr std::string_view kExportAgain =
    "export the file again: jax.export.export(jax.jit(f))(...).serialize() or stablehlo-translate "
    "--serialize; or as text, jax.jit(f).lower(...).as_text()";

// What a reader of versions can do about a file of another.
std::string version_note(std::string_view producer) {
  return fmt::format("written by {}; versions {} to {} are read",
                     producer.empty() ? "an unnamed producer" : escape(producer), kOldest, kNewest);
}

}  // namespace
}  // namespace vhlo

Module import_vhlo(std::string_view bytes, const std::string& source, size_t base) {
  const mlir_bytecode::Origin origin{source, bytes, base};
  std::string_view producer;
  try {
    producer = mlir_bytecode::read_header(origin).producer;
    const mlir_bytecode::Container container = mlir_bytecode::read_container(origin);
    return vhlo::Importer(origin, container).import();
  } catch (const UserError& error) {
    const std::string message =
        has_remedy(error) ? error.what() : UserError({}, error.what(), vhlo::kExportAgain).what();
    throw UserError({}, message, producer.empty() ? "" : vhlo::version_note(producer));
  }
}

}  // namespace spmd
