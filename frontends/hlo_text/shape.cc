#include "frontends/hlo_text/shape.h"

#include "frontends/hlo_proto/types.h"
#include "frontends/hlo_text/lists.h"
#include "support/error.h"

namespace spmd::hlo_text {
namespace {

constexpr int kMaxTupleDepth = 100;  // of tuples in tuples

void scan_dimension(Scanner& scan, hlo::ShapeProto& shape) {
  const bool bounded = scan.accept("<=");
  const bool unbounded = !bounded && scan.accept("?");
  scan.skip_blanks();
  const size_t start = scan.position();
  const int64_t size = unbounded ? 0 : scan.expect_integer("a dimension's size");
  if (size < 0) {
    scan.seek(start);
    scan.fail_expected("a dimension's size");
  }
  shape.add_dimensions(size);
  shape.add_is_dynamic_dimension(bounded || unbounded);
}

void check_permutation(Scanner& scan, size_t start, const hlo::ShapeProto& shape) {
  const auto& order = shape.layout().minor_to_major();
  std::vector<bool> seen(static_cast<size_t>(shape.dimensions_size()), false);
  bool valid = order.size() == shape.dimensions_size();
  for (const int64_t dim : order) {
    valid = valid && dim >= 0 && dim < shape.dimensions_size() && !seen[static_cast<size_t>(dim)];
    if (valid) seen[static_cast<size_t>(dim)] = true;
  }
  if (!valid) {
    scan.fail(start, fmt::format("this layout is no permutation of {} dimensions",
                                 shape.dimensions_size()));
  }
}

// {1,0:T(8,128)S(1)}: tiles, memory spaces and the like follow a colon.
void scan_layout(Scanner& scan, hlo::ShapeProto& shape) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const size_t end = start + scan_braces(scan).size();
  scan.seek(start + 1);
  auto& order = *shape.mutable_layout()->mutable_minor_to_major();
  while (!scan.peek(":") && !scan.peek("}")) {
    order.Add(scan.expect_integer("a dimension's number"));
    if (!scan.accept(",")) break;
  }
  if (!scan.peek(":") && !scan.peek("}")) scan.fail_expected("',', ':' or '}'");
  if (!order.empty()) check_permutation(scan, start, shape);
  scan.seek(end);
}

void scan_array(Scanner& scan, hlo::ShapeProto& shape) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const auto type =
      hlo_proto::primitive_type_named(scan.expect_word_of("a shape, such as f32[2,3]"));
  if (!type || *type == hlo::TUPLE) {
    scan.seek(start);
    scan.fail_expected("a shape, such as f32[2,3]");
  }
  shape.set_element_type(*type);
  scan_list(scan, "[", "]", [&] { scan_dimension(scan, shape); });
  // What follows directly: `{` after a blank begins something else.
  if (scan.text().substr(scan.position(), 1) == "{") scan_layout(scan, shape);
}

void scan_nested(Scanner& scan, hlo::ShapeProto& shape, int& depth) {
  if (!scan.peek("(")) return scan_array(scan, shape);
  const DepthGuard guard(depth, scan, kMaxTupleDepth);
  shape.set_element_type(hlo::TUPLE);
  scan_list(scan, "(", ")", [&] { scan_nested(scan, *shape.add_tuple_shapes(), depth); });
}

}  // namespace

void scan_shape(Scanner& scan, hlo::ShapeProto& shape) {
  int depth = 0;
  scan_nested(scan, shape, depth);
}

bool peek_shape(Scanner& scan) {
  if (scan.peek("(")) return true;
  const size_t start = scan.position();
  const bool is_shape = scan.accept_word() && scan.text().substr(scan.position(), 1) == "[";
  scan.seek(start);
  return is_shape;
}

}  // namespace spmd::hlo_text
