#include "runtime/plan/dtype.h"
#include "runtime/plan/verifier.h"

namespace spmd::plan {
namespace {

// The shapes that follow from those of query, key and value.
struct Shapes {
  Shape key, value, output, statistics;
};

Shapes shapes_of(const Shape& query, const Shape& value) {
  const int64_t b = query[0], t = query[1], h = query[2], g = query[3];
  return {
      {b, value[1], h, query[4]}, {b, value[1], h, value[3]}, {b, t, h, g, value[3]}, {b, h, g, t}};
}

}  // namespace

void Verifier::attention(const Attention& step) {
  const Shape query = view(step.query()), value = view(step.value());
  expect(query.size() == 5 && value.size() == 4, "attention of other ranks than 5 and 4");
  const Shapes shapes = shapes_of(query, value);
  expect(view(step.key()) == shapes.key && view(step.value()) == shapes.value &&
             view(step.output()) == shapes.output && view(step.statistics()) == shapes.statistics,
         "the shapes of an attention step do not fit");
  const DType dtype = step.query().dtype();
  expect(is_float(dtype) && step.key().dtype() == dtype && step.value().dtype() == dtype &&
             step.output().dtype() == dtype && step.statistics().dtype() == F32,
         "the types of an attention step do not fit");
}

void Verifier::attention_backward(const AttentionBackward& step) {
  Attention forward;
  *forward.mutable_query() = step.query();
  *forward.mutable_key() = step.key();
  *forward.mutable_value() = step.value();
  *forward.mutable_output() = step.output();
  *forward.mutable_statistics() = step.statistics();
  attention(forward);
  expect(view(step.d_output()) == view(step.output()) &&
             view(step.d_query()) == view(step.query()) && view(step.d_key()) == view(step.key()) &&
             view(step.d_value()) == view(step.value()),
         "the shapes of gradients do not fit");
  const DType dtype = step.query().dtype();
  expect(step.d_output().dtype() == dtype && step.d_query().dtype() == dtype &&
             step.d_key().dtype() == dtype && step.d_value().dtype() == dtype,
         "the types of gradients do not fit");
}

}  // namespace spmd::plan
