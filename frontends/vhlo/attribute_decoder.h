// Decodes one attribute. Its parts are in
//   attributes.cc           the table, what dialects have in common; sdy by way of its text
//   vhlo_attributes.cc      VHLO
//   builtin_attributes.cc   MLIR's builtin dialect
#pragma once

#include "frontends/vhlo/attributes.h"

namespace spmd::vhlo {

class AttributeDecoder {
 public:
  AttributeDecoder(AttributeTable& table, const mlir_bytecode::Entry& entry)
      : table_(table), entry_(entry), cursor_(table.origin_, entry.bytes) {}

  text::Attribute decode();
  // Attributes that the decoded one consists of, itself included.
  size_t nodes() const { return nodes_; }

 private:
  text::Attribute decode_vhlo();
  text::Attribute decode_builtin();
  text::Attribute decode_sdy();
  text::Attribute decode_text(std::string_view text);

  // ---- vhlo_attributes.cc
  text::Attribute decode_enum(uint64_t code);
  text::Attribute decode_result_accuracy();
  text::Attribute decode_output_operand_alias();
  text::Attribute decode_axis_ref();
  text::Attribute decode_mesh();

  // ---- builtin_attributes.cc
  text::Attribute decode_dense_array();
  text::Attribute decode_resource();

  // ---- common
  text::Attribute make(text::Attribute::Kind kind) const;
  text::Attribute string();
  text::Attribute array();
  text::Attribute dictionary();
  text::Attribute integer();
  text::Attribute floating();
  text::Attribute type();
  text::Attribute tensor();
  text::Attribute literal(const TensorType& type, std::string_view bytes);
  // The attribute whose number comes next.
  text::Attribute child();
  uint32_t child_index();
  text::NamedAttribute named(std::string_view name, text::Attribute value) const;
  double number(int bits);
  int64_t known_width(int bits);

  AttributeTable& table_;
  const mlir_bytecode::Entry& entry_;
  mlir_bytecode::Cursor cursor_;
  size_t nodes_ = 1;
};

}  // namespace spmd::vhlo
