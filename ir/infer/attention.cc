#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {
namespace {

void require_shape(const char* what, const TensorType& type, const Dims& expected) {
  require(type.shape == expected, "{} has type {}, expected the shape {}", what, type,
          TensorType{type.dtype, expected});
}

}  // namespace

// (query, key, value) -> (output, statistics), and
// (query, key, value, output, statistics, output's gradient) -> the gradients of the first three.
Types infer_attention(OpCode code, const Types& in) {
  require_count(in, code == OpCode::kAttention ? 3 : 6);
  const TensorType &query = in[0], &key = in[1], &value = in[2];
  require(query.shape.size() == 5,
          "the queries have type {}, expected [batch, position, head, group, size]", query);
  require(key.shape.size() == 4 && value.shape.size() == 4,
          "keys and values have types {} and {}, expected [batch, position, head, size]", key,
          value);
  require(is_float(query.dtype) && key.dtype == query.dtype && value.dtype == query.dtype,
          "the element types {}, {} and {} are not one type of floats", name_of(query.dtype),
          name_of(key.dtype), name_of(value.dtype));
  const Dims& q = query.shape;
  require_shape("the key", key, {q[0], key.shape[1], q[2], q[4]});
  require_shape("the value", value, {q[0], key.shape[1], q[2], value.shape[3]});
  const TensorType output{query.dtype, {q[0], q[1], q[2], q[3], value.shape[3]}};
  const TensorType statistics{accumulation_type(query.dtype), {q[0], q[2], q[3], q[1]}};
  if (code == OpCode::kAttention) return {output, statistics};
  require(in[3] == output && in[5] == output, "outputs of types {} and {}, expected {}", in[3],
          in[5], output);
  require(in[4] == statistics, "the statistics have type {}, expected {}", in[4], statistics);
  return {query, key, value};
}

}  // namespace spmd::infer
