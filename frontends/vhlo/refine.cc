// Programs whose arguments got their sizes from the user: functions are written where they are
// called, what computes sizes is evaluated, and every type becomes what its operands make it.
#include <algorithm>

#include "frontends/at_place.h"
#include "frontends/vhlo/importer.h"
#include "support/error.h"

namespace spmd::vhlo {
namespace {

constexpr int kMaxInlined = 64;  // calls in each other

constexpr std::string_view kDynamicOps[] = {"stablehlo.dynamic_broadcast_in_dim",
                                            "stablehlo.dynamic_gather",
                                            "stablehlo.dynamic_iota",
                                            "stablehlo.dynamic_pad",
                                            "stablehlo.dynamic_reshape",
                                            "stablehlo.get_dimension_size",
                                            "stablehlo.real_dynamic_slice"};

bool is_open(const TensorType& type) {
  return std::find(type.shape.begin(), type.shape.end(), kDynamic) != type.shape.end();
}

}  // namespace

bool Importer::is_refined(std::string_view name) {
  return std::find(std::begin(kDynamicOps), std::end(kDynamicOps), name) != std::end(kDynamicOps);
}

// ---- what is known

// Null when it depends on values of a run.
const Literal* Importer::known(const Operation& op, ValueId value) {
  return at_place(origin_.place(op.offset), [&] { return folding_->known(value); });
}

Dims Importer::known_sizes(const Operation& op, ValueId value) {
  const Literal* literal = known(op, value);
  if (literal == nullptr) {
    origin_.fail(op.offset,
                 fmt::format("{} takes sizes that depend on values of a run", name_of(op).text),
                 "export the program so that sizes depend on the arguments' sizes only");
  }
  Dims sizes;
  for (int64_t i = 0; i < literal->type().num_elements(); ++i) sizes.push_back(literal->as_int(i));
  return sizes;
}

// Checks that JAX leaves in the program: a predicate, and what the message's {0}, {1} stand for.
void Importer::check_assertion(const Operation& op) {
  const std::vector<ValueId> operands = operands_of(op);
  const Dict attributes = attributes_of(op);
  if (operands.empty()) origin_.fail(op.offset, "an assertion has no predicate");
  if (known_sizes(op, operands[0]) != Dims{0}) return;
  std::string message =
      reader(attributes, "shape_assertion", op.offset).string_or("error_message", "");
  for (size_t i = 1; i < operands.size(); ++i) {
    const std::string mark = fmt::format("{{{}}}", i - 1);
    const Dims value = known_sizes(op, operands[i]);
    for (size_t at = message.find(mark); at != std::string::npos; at = message.find(mark)) {
      message.replace(at, mark.size(), fmt::format("{}", fmt::join(value, ", ")));
    }
  }
  origin_.fail(op.offset, "the sizes do not fit the program: " + escape(message),
               "give other sizes: --set-dim NAME=SIZE");
}

// ---- operations that take sizes

// A window of known sizes where a run says: JAX writes its end as its start plus the sizes.
ValueId Importer::moving_slice(const Operation& op, const std::vector<ValueId>& in,
                               Builder& builder) {
  const ValueId start = in[1];
  const Op* end = fn_->def(in[2]);
  const bool adds = end != nullptr && end->code == OpCode::kAdd &&
                    (end->operands[0] == start || end->operands[1] == start);
  if (!adds) known_sizes(op, start);  // says that they are not known
  const Dims sizes = known_sizes(op, end->operands[end->operands[0] == start ? 1 : 0]);
  const Dims strides = known_sizes(op, in[3]);
  const auto rank = fn_->type(in[0]).rank();
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }) ||
      static_cast<int64_t>(sizes.size()) != rank) {
    origin_.fail(op.offset, "takes every so many elements from where a run says",
                 "slice with a stride of 1, then with a known start");
  }
  std::vector<ValueId> operands = {in[0]};
  for (int64_t d = 0; d < rank; ++d) {
    operands.push_back(builder.reshape(builder.slice(start, {d}, {d + 1}), {}));
  }
  return builder.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{sizes});
}

ValueId Importer::refined_value(const Operation& op, const std::vector<ValueId>& in,
                                Builder& builder) {
  const std::string& name = name_of(op).text;
  const Dict attributes = attributes_of(op);
  const text::AttributeReader from = reader(attributes, name, op.offset);
  const auto require = [&](size_t count) {
    if (in.size() != count) origin_.fail(op.offset, fmt::format("{} has {} operands", name, count));
  };
  const auto type_with = [&](Dims shape) {
    const std::vector<TensorType> types = result_types(op);
    if (types.size() != 1) origin_.fail(op.offset, fmt::format("{} has one result", name));
    TensorType type{types[0].dtype, std::move(shape)};
    if (!is_valid(type)) origin_.fail(op.offset, "a tensor is too large");
    return type;
  };
  const auto made = [&](OpCode code, std::vector<ValueId> operands, Dims shape, Attrs attrs) {
    const OpId id = builder.create(code, std::move(operands), {type_with(std::move(shape))}, attrs);
    return fn_->op(id).results[0];
  };
  if (name == "stablehlo.get_dimension_size") {
    require(1);
    const int64_t dim = from.integer("dimension");
    const TensorType& type = fn_->type(in[0]);
    if (dim < 0 || dim >= type.rank()) origin_.fail(op.offset, "there is no such dimension");
    return builder.splat({DType::kS32, {}}, static_cast<double>(type.dim(dim)));
  }
  if (name == "stablehlo.dynamic_iota") {
    require(1);
    return made(OpCode::kIota, {}, known_sizes(op, in[0]),
                IotaAttrs{from.integer("iota_dimension")});
  }
  if (name == "stablehlo.dynamic_pad") {
    require(5);
    return builder.pad(in[0], in[1], known_sizes(op, in[2]), known_sizes(op, in[3]),
                       known_sizes(op, in[4]));
  }
  if (name == "stablehlo.real_dynamic_slice") {
    require(4);
    if (known(op, in[1]) == nullptr) return moving_slice(op, in, builder);
    return builder.slice(in[0], known_sizes(op, in[1]), known_sizes(op, in[2]),
                         known_sizes(op, in[3]));
  }
  require(2);
  if (name == "stablehlo.dynamic_reshape") {
    return made(OpCode::kReshape, {in[0]}, known_sizes(op, in[1]), NoAttrs{});
  }
  return made(OpCode::kBroadcastInDim, {in[0]}, known_sizes(op, in[1]),
              BroadcastInDimAttrs{from.integers("broadcast_dimensions")});
}

// ---- operations of open types

std::vector<TensorType> Importer::refined_types(const Operation& op, OpId id) {
  const Op& made = fn_->op(id);
  std::vector<TensorType> types;
  for (ValueId result : made.results) types.push_back(fn_->type(result));
  if (std::none_of(types.begin(), types.end(), is_open)) return types;
  switch (made.code) {
    case OpCode::kConvert:
    case OpCode::kBitcastConvert:
      if (made.operands.size() != 1 || types.size() != 1) break;
      types[0].shape = fn_->type(made.operands[0]).shape;
      return types;
    case OpCode::kIf:
    case OpCode::kCase: {
      const OpId end = made.regions.empty() ? OpId::kNone : fn_->terminator(made.regions[0]);
      if (end == OpId::kNone) break;
      const Op& last = fn_->op(end);
      if (last.operands.size() != types.size()) break;
      for (size_t i = 0; i < types.size(); ++i) types[i] = fn_->type(last.operands[i]);
      return types;
    }
    case OpCode::kBroadcastInDim:
    case OpCode::kCustomCall:
    case OpCode::kIota:
    case OpCode::kReshape:
    case OpCode::kRngBitGenerator:
      break;
    default:
      return infer_types(*fn_, made.code, made.operands, made.attrs);
  }
  origin_.fail(op.offset, fmt::format("{} leaves open what type it has", name_of(op).text));
}

void Importer::refine_results(const Operation& op, OpId id) {
  try {
    const std::vector<TensorType> types = refined_types(op, id);
    const ValueIds& results = fn_->op(id).results;
    if (types.size() != results.size()) origin_.fail(op.offset, "it has another number of results");
    for (size_t i = 0; i < types.size(); ++i) fn_->value(results[i]).type = types[i];
  } catch (const UserError& error) {
    const std::string text = error.what();
    if (text.starts_with(origin_.source)) throw;
    fail(op.offset, text);
  }
}

// ---- calls

const mlir_bytecode::Block& Importer::callee_of(const Operation& op) {
  const Dict attributes = attributes_of(op);
  const std::string& callee = reader(attributes, "call", op.offset).get("callee").string;
  for (const Operation& function : module_operation().regions[0].operations) {
    if (name_of(function).text != "stablehlo.func" || function.regions.size() != 1) continue;
    const Dict found = attributes_of(function);
    const text::AttributeReader from = reader(found, "func.func", function.offset);
    if (from.string_or("sym_name", "") != callee) continue;
    if (function.regions[0].operations.empty()) break;
    return function.regions[0];
  }
  origin_.fail(op.offset, fmt::format("there is no function @{}", escape(callee)));
}

void Importer::inline_call(const Operation& op, BlockId block) {
  if (++inlined_ > kMaxInlined) origin_.fail(op.offset, "calls stand in each other too deep");
  const Block& body = callee_of(op);
  const std::vector<ValueId> operands = operands_of(op);
  const ValueId* next = operands.data();
  std::vector<TensorType> leaves;
  for (const mlir_bytecode::BlockArgument& argument : body.arguments) {
    types_.add_leaves(argument.type, op.offset, leaves);
  }
  if (leaves.size() != operands.size()) origin_.fail(op.offset, "a call has other operands");
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    const mlir_bytecode::BlockArgument& argument = body.arguments[i];
    if (argument.location) note_argument_name(*next, *argument.location);
    define(body.first_argument + static_cast<uint32_t>(i), argument.type, op.offset, next);
  }
  for (size_t i = 0; i + 1 < body.operations.size(); ++i) {
    if (!import_plumbing(body.operations[i])) import_operation(body.operations[i], block);
  }
  const Operation& last = body.operations.back();
  if (name_of(last).text != "stablehlo.return") origin_.fail(last.offset, "expected a return");
  define_results(op, operands_of(last));
  --inlined_;
}

// The function that JAX wraps knows the names of the arguments.
void Importer::note_argument_name(ValueId value, uint32_t location) {
  const auto& arguments = fn_->arguments();
  const auto found = std::find(arguments.begin(), arguments.end(), value);
  const LocationRef name = locations_.at(location);
  if (found == arguments.end() || name == nullptr) return;
  inner_names_.emplace(static_cast<size_t>(found - arguments.begin()), name->name);
}

// True when the operation has been dealt with.
bool Importer::refine(const Operation& op, BlockId block) {
  const std::string& name = name_of(op).text;
  if (text::code_of(name) == OpCode::kCall) {
    inline_call(op, block);
    return true;
  }
  if (name == "stablehlo.custom_call") {
    const Dict attributes = attributes_of(op);
    const text::AttributeReader from = reader(attributes, name, op.offset);
    if (from.string_or("call_target_name", "") != "shape_assertion") return false;
    check_assertion(op);
    return true;
  }
  if (!is_refined(name) || name == "stablehlo.dynamic_gather") return false;
  current_ = op.offset;
  Builder builder(*fn_, block);
  builder.location = locations_.at(op.location);
  placed_.emplace(op.offset, builder.location);
  const size_t first = fn_->num_op_ids();
  if (builder.location == nullptr) builder.location = unknown_location_;
  try {
    const ValueId value = refined_value(op, operands_of(op), builder);
    sources_.back().resize(first, nullptr);
    sources_.back().resize(fn_->num_op_ids(), &op);
    define_results(op, {value});
  } catch (const UserError& error) {
    const std::string text = error.what();
    if (text.starts_with(origin_.source)) throw;
    fail(op.offset, text);
  }
  return true;
}

}  // namespace spmd::vhlo
