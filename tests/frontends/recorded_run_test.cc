// Values that snapshots hold beside their programs.
#include "frontends/recorded_run.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/frontends/hlo_text.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

hlo::LiteralProto floats(std::vector<int64_t> dims, std::vector<float> elements) {
  hlo::LiteralProto literal;
  literal.mutable_shape()->set_element_type(hlo::F32);
  for (int64_t dim : dims) literal.mutable_shape()->add_dimensions(dim);
  for (float element : elements) literal.add_f32s(element);
  return literal;
}

hlo::LiteralProto tuple(std::vector<hlo::LiteralProto> elements) {
  hlo::LiteralProto literal;
  literal.mutable_shape()->set_element_type(hlo::TUPLE);
  for (const hlo::LiteralProto& element : elements) {
    *literal.mutable_shape()->add_tuple_shapes() = element.shape();
    *literal.add_tuple_literals() = element;
  }
  return literal;
}

hlo::HloModuleProto module() {
  return hlo_module(
      "instructions { name: 'x' opcode: 'parameter' shape { element_type: F32 dimensions: 2 } id: "
      "1 }",
      1, {}, "entry_computation_name: 'main'");
}

hlo::HloSnapshot snapshot() {
  hlo::HloSnapshot proto;
  *proto.mutable_hlo()->mutable_hlo_module() = module();
  *proto.add_arguments() = floats({2}, {1, 2});
  *proto.add_arguments() = tuple({floats({}, {3}), tuple({floats({1, 1}, {4})})});
  *proto.mutable_result() = tuple({floats({2}, {5, 6}), floats({}, {7})});
  return proto;
}

std::string recorded_run_error(const hlo::HloSnapshot& proto) {
  return testing::error_of([&] { read_recorded_run(proto.SerializeAsString(), "s.pb"); });
}

TEST(RecordedRun, TuplesAreTakenApart) {
  const auto run = read_recorded_run(snapshot().SerializeAsString(), "s.pb");
  ASSERT_TRUE(run.has_value());
  ASSERT_EQ(run->arguments.size(), 3u);
  EXPECT_EQ(run->arguments[0].as_double(1), 2);
  EXPECT_EQ(run->arguments[1].as_double(0), 3);
  EXPECT_EQ(run->arguments[2].type().shape, (Dims{1, 1}));
  ASSERT_TRUE(run->results.has_value());
  ASSERT_EQ(run->results->size(), 2u);
  EXPECT_EQ((*run->results)[0].as_double(0), 5);
}

TEST(RecordedRun, ResultsMayBeMissing) {
  hlo::HloSnapshot proto = snapshot();
  proto.clear_result();
  const auto run = read_recorded_run(proto.SerializeAsString(), "s.pb");
  ASSERT_TRUE(run.has_value());
  EXPECT_FALSE(run->results.has_value());
}

TEST(RecordedRun, UnoptimizedSnapshotsOfOnePartitionHaveArguments) {
  hlo::HloUnoptimizedSnapshot proto;
  *proto.mutable_hlo_module() = module();
  *proto.add_partitions()->add_arguments() = floats({2}, {1, 2});
  const auto run = read_recorded_run(proto.SerializeAsString(), "s.pb");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->arguments.size(), 1u);
  EXPECT_FALSE(run->results.has_value());
  // Those of several partitions are parts of the program's.
  proto.add_partitions();
  EXPECT_FALSE(read_recorded_run(proto.SerializeAsString(), "s.pb").has_value());
}

TEST(RecordedRun, OtherFilesHaveNone) {
  hlo::HloProto proto;
  *proto.mutable_hlo_module() = module();
  EXPECT_FALSE(read_recorded_run(proto.SerializeAsString(), "m.pb").has_value());
  EXPECT_FALSE(read_recorded_run(module().SerializeAsString(), "m.pb").has_value());
  EXPECT_FALSE(read_recorded_run("module @m {}", "m.mlir").has_value());
  EXPECT_FALSE(read_recorded_run("", "empty").has_value());
}

TEST(RecordedRun, DamagedValuesAreRefused) {
  hlo::HloSnapshot proto = snapshot();
  proto.mutable_arguments(0)->add_f32s(9);
  EXPECT_TRUE(recorded_run_error(proto).starts_with(
      "s.pb: recorded argument 0: the constant holds 12 bytes of elements, expected 8"))
      << recorded_run_error(proto);
  proto = snapshot();
  proto.mutable_result()->mutable_tuple_literals()->RemoveLast();
  EXPECT_TRUE(recorded_run_error(proto).starts_with(
      "s.pb: recorded result: the tuple holds 1 values, expected 2"))
      << recorded_run_error(proto);
}

}  // namespace
}  // namespace spmd
