// Small HLO texts for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "frontends/hlo_text/import.h"
#include "ir/literal.h"
#include "support/error.h"

namespace spmd::testing {

// A module of one computation with these instructions, which begin in line 4.
inline std::string hlo_entry(const std::string& instructions) {
  return "HloModule m\n\nENTRY main {\n" + instructions + "}\n";
}

inline Module import_hlo_entry(const std::string& instructions) {
  return import_hlo_text(hlo_entry(instructions), "test.hlo");
}

// What the UserError says; anything else fails the test.
inline std::string hlo_text_error(const std::string& text) {
  try {
    import_hlo_text(text, "test.hlo");
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error for\n" << text;
  return "";
}

// The constant that the only result of main() is.
inline Literal constant_result(const Module& module) {
  const Function& main = module.main();
  const Op* op = main.def(main.results()[0]);
  if (op == nullptr || op->code != OpCode::kConstant) throw InternalError("not a constant");
  return op->as<ConstantAttrs>().value;
}

inline Literal hlo_constant(const std::string& shape, const std::string& elements) {
  return constant_result(import_hlo_entry("  ROOT c = " + shape + " constant(" + elements + ")\n"));
}

}  // namespace spmd::testing
