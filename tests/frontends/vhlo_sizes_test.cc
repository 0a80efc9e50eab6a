// Files of jax.export with symbolic dimensions, for sizes that the user gives. tests/data/vhlo/
// generate.py has the functions, and writes them for fixed sizes too.
#include <gtest/gtest.h>

#include <filesystem>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "frontends/vhlo/open_sizes.h"
#include "ir/evaluator.h"
#include "tests/differential/random.h"
#include "tests/support/error_of.h"
#include "tests/support/repetitions.h"

namespace spmd::vhlo_sizes_test {
namespace {

namespace fs = std::filesystem;

Module import_sized(const std::string& file, const std::vector<std::string>& dims) {
  return import_file((fs::path(SPMD_SOURCE_DIR) / "tests/data/vhlo" / file).string(),
                     parse_import_options(dims, {}));
}

std::string error_of(const std::string& file, const std::vector<std::string>& dims) {
  return testing::error_of([&] { import_sized(file, dims); });
}

void expect_error(const std::string& file, const std::vector<std::string>& dims,
                  const std::string& part) {
  const std::string found = error_of(file, dims);
  EXPECT_NE(found.find(part), std::string::npos) << found;
}

std::vector<Literal> random_arguments(const Module& module) {
  testing::Random random(3);
  std::vector<Literal> arguments;
  for (ValueId argument : module.main().arguments()) {
    Literal literal(module.main().type(argument));
    for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
      literal.mutable_as<float>()[i] = static_cast<float>(random.pick(-8, 8)) / 4;
    }
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

void expect_same_as_fixed(const std::string& name, const std::vector<std::string>& dims) {
  const Module sized = import_sized(name + ".jaxexport", dims);
  const Module fixed = import_sized(name + ".mlir", {});
  const std::vector<Literal> arguments = random_arguments(fixed);
  const std::vector<Literal> found = evaluate(sized, arguments);
  const std::vector<Literal> expected = evaluate(fixed, arguments);
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].type(), expected[i].type()) << name << " result " << i;
    for (int64_t e = 0; e < found[i].type().num_elements(); ++e) {
      EXPECT_NEAR(found[i].as_double(e), expected[i].as_double(e), 1e-5) << name << " result " << i;
    }
  }
}

TEST(VhloSizes, GiveTheProgramForTheseSizes) {
  expect_same_as_fixed("symbolic_size", {"b=4"});
  expect_same_as_fixed("symbolic_layer", {"b=4", "n=3"});
  expect_same_as_fixed("symbolic_shapes", {"b=4", "n=3"});
  expect_same_as_fixed("symbolic_scan", {"b=4", "t=5"});
}

TEST(VhloSizes, MayBeGivenByArgumentOrItsWholeShape) {
  expect_same_as_fixed("symbolic_layer", {"arg0[0]=4", "arg1[1]=6"});
  expect_same_as_fixed("symbolic_layer", {"arg0=[4,3]", "n=3"});
  expect_same_as_fixed("symbolic_scan", {"arg0=[5,4,2]"});
}

TEST(VhloSizes, ArgumentsHaveTheNamesOfTheFunctions) {
  const Module module = import_sized("symbolic_layer.jaxexport", {"b=4", "n=3"});
  EXPECT_EQ(module.main().argument_info[0].name, "x");
  EXPECT_EQ(module.main().argument_info[1].name, "w");
  EXPECT_EQ(module.functions().size(), 1u);
}

TEST(VhloSizes, ThatAreMissingAreListedWithTheRemedy) {
  expect_error("symbolic_layer.jaxexport", {},
               "symbolic_layer.jaxexport: 2 dimensions have no size: b, n\n"
               "  give every one a size: --set-dim 'b=SIZE' --set-dim 'n=SIZE'");
  expect_error("symbolic_layer.jaxexport", {"b=4"},
               "1 dimension has no size: n\n  give every one a size: --set-dim 'n=SIZE'");
}

TEST(VhloSizes, ThatFitNothingAreRefused) {
  expect_error("symbolic_layer.jaxexport", {"b=4", "n=3", "nn=2"},
               "has no open dimension nn\n  did you mean n?");
  expect_error("symbolic_layer.jaxexport", {"arg0=[4,5]", "n=3"},
               "arg0[1] is 3 in the program, the shape given says 5");
  expect_error("symbolic_layer.jaxexport", {"arg0=[4]", "n=3"},
               "arg0 has 2 dimensions, the shape given for it 1");
  expect_error("symbolic_layer.jaxexport", {"b=0", "n=3"},
               "the sizes do not fit the program: Input shapes do not match the polymorphic shapes "
               "specification. Expected value >= 1 for dimension variable 'b'.");
  expect_error("symbolic_layer.jaxexport", {"b=4", "arg1[1]=5"},
               "Division had remainder 1 when computing the value of 'n'");
}

TEST(VhloSizes, OfDamagedFilesAreReadOrRefused) {
  testing::Random random(11);
  const fs::path folder = fs::path(SPMD_SOURCE_DIR) / "tests/data/vhlo";
  for (const char* name : {"symbolic_layer", "symbolic_shapes", "symbolic_scan"}) {
    const std::string whole = read_file((folder / (std::string(name) + ".jaxexport")).string());
    const ImportOptions dims = parse_import_options({"b=4", "n=3", "t=5"}, {});
    for (int i = 0; i < testing::repetitions(1500); ++i) {
      std::string damaged = whole;
      for (int64_t flips = random.pick(1, 3); flips > 0; --flips) {
        damaged[static_cast<size_t>(random.pick(0, static_cast<int64_t>(whole.size()) - 1))] =
            static_cast<char>(random.pick(0, 255));
      }
      for (const std::string unused : {"b", "n", "t"}) {
        ImportOptions some = dims;
        some.dims.erase(unused);
        try {
          import_bytes(damaged, "model", some);
        } catch (const UserError& error) {
          ASSERT_TRUE(std::string(error.what()).starts_with("model")) << error.what();
        }
      }
    }
  }
}

TEST(VhloSizes, OfTextsAreTheirValues) {
  std::vector<std::string> missing;
  const auto value = [&](const std::string& text) {
    return vhlo::evaluate_dim(text, {{"a", 7}, {"b", 3}}, missing);
  };
  EXPECT_EQ(value("12"), 12);
  EXPECT_EQ(value("2*a*b - b + 1"), 40);
  EXPECT_EQ(value("-b + a"), 4);
  EXPECT_EQ(value("b^3"), 27);
  EXPECT_EQ(value("floordiv(a, b) + mod(a, b)"), 3);
  EXPECT_EQ(value("floordiv(b - a, 3) + 2"), 0);  // rounds down: -4 / 3 is -2
  EXPECT_EQ(value("max(a, 2*(b + 1)) + min(a, b)"), 11);
  EXPECT_TRUE(missing.empty());
  EXPECT_EQ(value("c + d + c"), 3);
  EXPECT_EQ(missing, (std::vector<std::string>{"c", "d"}));
  EXPECT_EQ(value("c - 3"), -2);  // not an error while its name has no size
  for (const char* text : {"", "a +", "a b", "f(a, b)", "floordiv(a, 0)", "(a", "a^99999999",
                           "1^99999999999", "99999999999999999999", "b^60", "b - a"}) {
    EXPECT_NE(testing::error_of([&] { value(text); }), "no error") << text;
  }
  EXPECT_NE(testing::error_of([&] { value(std::string(1000, '(')); }), "no error");
}

}  // namespace
}  // namespace spmd::vhlo_sizes_test
