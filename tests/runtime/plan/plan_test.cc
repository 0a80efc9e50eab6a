#include "runtime/plan/plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/plan/checksum.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd::plan {
namespace {

using testing::error_of;

View make_view(int32_t buffer, std::vector<int64_t> shape, int64_t offset = 0) {
  View view;
  view.set_buffer(buffer);
  view.set_dtype(F32);
  view.set_offset(offset);
  int64_t stride = 1;
  std::vector<int64_t> strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  for (int64_t s : strides) view.add_strides(s);
  for (int64_t s : shape) view.add_shape(s);
  return view;
}

// y = x + x over 8 elements, then an all-reduce along the only axis.
Plan small_plan() {
  Plan plan;
  plan.set_source("m.mlir");
  MeshAxis* axis = plan.add_mesh();
  axis->set_name("data");
  axis->set_size(2);
  Buffer* x = plan.add_buffers();
  x->set_kind(Buffer::ARGUMENT);
  x->set_bytes(32);
  Buffer* y = plan.add_buffers();
  y->set_kind(Buffer::RESULT);
  y->set_bytes(32);
  Argument* argument = plan.add_arguments();
  argument->set_name("x");
  argument->set_buffer(0);
  argument->set_aliased_result(-1);
  argument->mutable_placement()->set_dtype(F32);
  argument->mutable_placement()->add_global_shape(8);
  argument->mutable_placement()->add_local_shape(8);
  Result* result = plan.add_results();
  *result->mutable_placement() = argument->placement();
  result->set_buffer(1);
  Sequence* body = plan.add_programs()->mutable_body();
  Step* step = body->add_steps();
  step->set_op("add (m.mlir:3)");
  Elementwise* e = step->mutable_elementwise();
  e->add_shape(8);
  e->mutable_program()->add_inputs(F32);
  Instruction* add = e->mutable_program()->add_instructions();
  add->set_op(ADD);
  add->set_dtype(F32);
  add->add_args(0);
  add->add_args(0);
  e->mutable_program()->add_outputs(1);
  *e->add_inputs() = make_view(0, {8});
  *e->add_outputs() = make_view(1, {8});
  step = body->add_steps();
  step->set_op("psum (m.mlir:4)");
  Collective* collective = step->mutable_collective();
  collective->set_kind(Collective::ALL_REDUCE);
  collective->mutable_axes()->add_axes();
  collective->set_reduction(ADD);
  Collective::Part* part = collective->add_parts();
  *part->mutable_in() = make_view(1, {8});
  *part->mutable_out() = make_view(1, {8});
  return plan;
}

TEST(Plan, RoundTrip) {
  const std::string bytes = serialize_plan(small_plan());
  const Plan read = parse_plan(bytes, "p.plan");
  EXPECT_EQ(serialize_plan(read), bytes);
  EXPECT_EQ(read.programs(0).body().steps(0).op(), "add (m.mlir:3)");
}

// Programs and paths need not be UTF-8.
TEST(Plan, NamesMayHoldAnyBytes) {
  Plan plan = small_plan();
  plan.set_source("\xFF.mlir");
  plan.mutable_arguments(0)->set_name(
      "gr\xF6\xDF"
      "e");
  const Plan read = parse_plan(serialize_plan(plan), "p.plan");
  EXPECT_EQ(read.source(), "\xFF.mlir");
  EXPECT_EQ(read.arguments(0).name(),
            "gr\xF6\xDF"
            "e");
}

TEST(Plan, RefusesOtherVersionsByTheHeaderAlone) {
  Plan plan = small_plan();
  plan.set_magic(kPlanMagic);
  plan.set_version(9);
  plan.set_reader_version(8);
  // What follows need not make sense to this reader.
  const std::string bytes = plan.SerializeAsString() + "\xff\xff\xff";
  EXPECT_EQ(error_of([&] { parse_plan(bytes, "p.plan"); }),
            "p.plan: a plan of version 9 that needs a reader of version 8 or newer, this spmd "
            "reads versions 5 to 5\n  update spmd, or compile the program again with this one");
}

TEST(Plan, RefusesForeignAndDamagedBytes) {
  EXPECT_NE(error_of([] { parse_plan("", "p"); }).find("p: not an spmd plan"), std::string::npos);
  EXPECT_NE(error_of([] { parse_plan("hello world", "p"); }).find("not an spmd plan"),
            std::string::npos);
  const std::string bytes = serialize_plan(small_plan());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(error_of([&] { parse_plan(std::string_view(bytes).substr(0, length), "p"); }),
              "no error")
        << length;
}

std::string with_flipped_bit(std::string bytes, size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

TEST(Plan, RefusesEveryFlippedBit) {
  const std::string bytes = serialize_plan(small_plan());
  for (size_t i = 0; i < bytes.size() * 8; ++i)
    EXPECT_NE(error_of([&] { parse_plan(with_flipped_bit(bytes, i), "p"); }), "no error") << i;
  EXPECT_EQ(error_of([&] { parse_plan(with_flipped_bit(bytes, bytes.size() * 8 - 1), "p.plan"); }),
            "p.plan: is damaged: its checksum differs\n"
            "  copy the file again, or compile the program again");
  EXPECT_EQ(error_of([&] { parse_plan(std::string_view(bytes).substr(0, 40), "p.plan"); }),
            "p.plan: is damaged: its end with the checksum is not there\n"
            "  copy the file again, or compile the program again");
}

// Nor may a flipped bit under a right checksum get a plan past the verifier that reaches outside
// its buffers; here: nothing but a UserError is thrown.
TEST(Plan, DamagedBitsThrowUserErrorsOnly) {
  const std::string sealed = serialize_plan(small_plan());
  const std::string bytes(without_checksum(sealed, "p"));
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    std::string damaged = with_flipped_bit(bytes, i);
    append_checksum(damaged);
    error_of([&] { parse_plan(damaged, "p"); });
  }
}

// The checksum is a field like others: what ignores it reads the same Plan.
TEST(Plan, TheChecksumIsAFieldOfItsOwn) {
  Plan plan;
  ASSERT_TRUE(plan.ParseFromString(serialize_plan(small_plan())));
  EXPECT_EQ(plan.programs(0).body().steps(0).op(), "add (m.mlir:3)");
}

struct Fault {
  const char* want;
  std::function<void(Plan&)> make;
};

Elementwise& elementwise(Plan& plan) {
  return *plan.mutable_programs(0)->mutable_body()->mutable_steps(0)->mutable_elementwise();
}
Collective& collective(Plan& plan) {
  return *plan.mutable_programs(0)->mutable_body()->mutable_steps(1)->mutable_collective();
}

Step& step(Plan& plan, int i) {
  return *plan.mutable_programs(0)->mutable_body()->mutable_steps(i);
}

void add_kernel(Plan& plan, int arguments) {
  plan.mutable_kernels()->set_code("code");
  Kernel& kernel = *plan.mutable_kernels()->add_kernels();
  kernel.set_name("k");
  kernel.set_arguments(arguments);
  kernel.set_units(2);
  kernel.set_parts(2);
}

// Buffer `number` becomes a local one; what the plan's signature says of it a new one.
void make_local(Plan& plan, int number) {
  plan.add_buffers()->CopyFrom(plan.buffers(number));
  plan.mutable_buffers(number)->set_kind(Buffer::LOCAL);
  const int moved = plan.buffers_size() - 1;
  if (number == 0) plan.mutable_arguments(0)->set_buffer(moved);
  if (number == 1) plan.mutable_results(0)->set_buffer(moved);
}

TEST(Plan, VerifierFindsFaults) {
  const Fault faults[] = {
      {"step elementwise of add (m.mlir:3): a view of f32 reaches element 8 of a buffer of 32",
       [](Plan& p) { elementwise(p).mutable_inputs(0)->set_offset(1); }},
      {"begins before its buffer",
       [](Plan& p) { elementwise(p).mutable_inputs(0)->set_offset(-1); }},
      {"outside its buffer",
       [](Plan& p) { elementwise(p).mutable_inputs(0)->set_strides(0, INT64_MAX / 2); }},
      {"buffer that does not exist",
       [](Plan& p) { elementwise(p).mutable_outputs(0)->set_buffer(7); }},
      {"register not yet written",
       [](Plan& p) { elementwise(p).mutable_program()->mutable_instructions(0)->set_args(1, 1); }},
      {"too few or too many operands",
       [](Plan& p) { elementwise(p).mutable_program()->mutable_instructions(0)->add_args(0); }},
      {"not one stride per dimension",
       [](Plan& p) { elementwise(p).mutable_inputs(0)->add_strides(1); }},
      {"a mesh axis that does not exist",
       [](Plan& p) { collective(p).mutable_axes()->mutable_axes(0)->set_axis(3); }},
      {"a tensor is not dense",
       [](Plan& p) { collective(p).mutable_parts(0)->mutable_in()->set_strides(0, 0); }},
      {"an unknown reduction", [](Plan& p) { collective(p).set_reduction(SINE); }},
      {"smaller than its argument", [](Plan& p) { p.mutable_buffers(0)->set_bytes(16); }},
      {"aliases a result that does not exist",
       [](Plan& p) { p.mutable_arguments(0)->set_aliased_result(4); }},
      {"no positive size", [](Plan& p) { p.mutable_mesh(0)->set_size(0); }},
      {"no permutation",
       [](Plan& p) {
         p.add_device_ids(0);
         p.add_device_ids(0);
       }},
      {"a compiled kernel that does not exist", [](Plan& p) { step(p, 0).set_kernel(1); }},
      {"a compiled kernel of 3 arguments for 2 views",
       [](Plan& p) {
         add_kernel(p, 3);
         step(p, 0).set_kernel(1);
       }},
      {"a compiled kernel whose units are out of range",
       [](Plan& p) {
         add_kernel(p, 2);
         p.mutable_kernels()->mutable_kernels(0)->set_units(0);
       }},
      {"a compiled kernel whose units are out of range",
       [](Plan& p) {
         add_kernel(p, 2);
         p.mutable_kernels()->mutable_kernels(0)->set_parts(3);
       }},
      {"a compiled kernel for a step that has none",
       [](Plan& p) {
         add_kernel(p, 2);
         step(p, 1).set_kernel(1);
       }},
      {"compiled kernels without code",
       [](Plan& p) {
         add_kernel(p, 2);
         p.mutable_kernels()->clear_code();
       }},
      {"a view on a local buffer outside of fused steps", [](Plan& p) { make_local(p, 1); }},
      {"reads a local buffer that no step before has written",
       [](Plan& p) {
         Step inner = step(p, 0);
         *step(p, 0).mutable_fused()->add_steps() = inner;
         make_local(p, 0);
       }},
      {"fuses a step that is neither elementwise nor a reduction",
       [](Plan& p) { step(p, 0).mutable_fused()->add_steps(); }},
      {"groups no steps", [](Plan& p) { step(p, 0).mutable_grouped(); }},
      {"groups a step that is neither elementwise nor a reduction",
       [](Plan& p) { step(p, 0).mutable_grouped()->add_steps()->mutable_dot(); }},
      {"members 0 and 1 of a group write the same bytes",
       [](Plan& p) {
         const Step member = step(p, 0);
         for (int m = 0; m < 2; ++m) *step(p, 0).mutable_grouped()->add_steps() = member;
       }},
      {"says nothing to do", [](Plan& p) { p.mutable_programs(0)->mutable_body()->add_steps(); }},
  };
  verify_plan(small_plan());
  for (const Fault& fault : faults) {
    Plan plan = small_plan();
    fault.make(plan);
    const std::string text = error_of([&] { verify_plan(plan, "p"); });
    EXPECT_NE(text.find(fault.want), std::string::npos) << fault.want << "\n got " << text;
  }
}

}  // namespace
}  // namespace spmd::plan
