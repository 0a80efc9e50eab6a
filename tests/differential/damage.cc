#include "tests/differential/damage.h"

#include <cstring>

#include "collectives/comm/local.h"
#include "ir/analysis/trip_count.h"
#include "ir/evaluator.h"
#include "passes/compile.h"
#include "runtime/executor.h"
#include "support/error.h"

namespace spmd::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const std::vector<std::string>& dtype_names() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>;
#define SPMD_NAME(name, text, bits, kind) list->push_back(text);
    SPMD_DTYPES(SPMD_NAME)
#undef SPMD_NAME
    return list;
  }();
  return *names;
}

int64_t damaged_integer(int64_t value, Random& random) {
  switch (random.below(8)) {
    case 0:  // or around the end
      return static_cast<int64_t>(static_cast<uint64_t>(value) + 1);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(value) - 1);
    case 2:
      return -1;
    case 3:
      return INT64_MAX;
    case 4:
      return INT64_MIN;
    case 5:
      return int64_t{1} << random.pick(3, 62);
    default:
      return random.below(8);
  }
}

std::string damaged_bytes(std::string_view field, std::string value, Random& random) {
  if (field == "dtype" || field == "lhs" || field == "rhs" || field == "accumulation") {
    return random.of(dtype_names());
  }
  if (field == "opcodes") {
    return std::string(name_of(static_cast<OpCode>(random.below(kNumOpCodes))));
  }
  if (field == "data" && !value.empty()) {
    value[static_cast<size_t>(random.below(static_cast<int64_t>(value.size())))] =
        static_cast<char>(random.below(256));
  }
  return value;
}

// Sets a scalar field, or element `at` of a repeated one.
class ScalarDamage {
 public:
  ScalarDamage(Message& message, const FieldDescriptor* field, Random& random)
      : message_(message), reflection_(*message.GetReflection()), field_(field), random_(random) {}

  void run(int at) {
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        return set(at, &Reflection::GetInt64, &Reflection::GetRepeatedInt64, &Reflection::SetInt64,
                   &Reflection::SetRepeatedInt64);
      case FieldDescriptor::CPPTYPE_INT32:
        return set(at, &Reflection::GetInt32, &Reflection::GetRepeatedInt32, &Reflection::SetInt32,
                   &Reflection::SetRepeatedInt32);
      case FieldDescriptor::CPPTYPE_UINT32:
        return set(at, &Reflection::GetUInt32, &Reflection::GetRepeatedUInt32,
                   &Reflection::SetUInt32, &Reflection::SetRepeatedUInt32);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (field_->is_repeated()) {
          reflection_.SetRepeatedBool(&message_, field_, at, random_.chance(50));
        } else {
          reflection_.SetBool(&message_, field_, random_.chance(50));
        }
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return reflection_.SetEnumValue(&message_, field_, static_cast<int>(random_.below(7)));
      case FieldDescriptor::CPPTYPE_STRING:
        if (field_->is_repeated()) {
          reflection_.SetRepeatedString(
              &message_, field_, at,
              damaged_bytes(field_->name(), reflection_.GetRepeatedString(message_, field_, at),
                            random_));
        } else {
          reflection_.SetString(
              &message_, field_,
              damaged_bytes(field_->name(), reflection_.GetString(message_, field_), random_));
        }
        return;
      default:
        return;
    }
  }

 private:
  template <typename Get, typename GetAt, typename Set, typename SetAt>
  void set(int at, Get get, GetAt get_at, Set set, SetAt set_at) {
    if (field_->is_repeated()) {
      const int64_t value = (reflection_.*get_at)(message_, field_, at);
      // Numbers of types, values and blocks are small.
      (reflection_.*set_at)(&message_, field_, at,
                            random_.chance(50)
                                ? static_cast<int>(random_.below(24))
                                : static_cast<int64_t>(damaged_integer(value, random_)));
    } else {
      const int64_t value = (reflection_.*get)(message_, field_);
      (reflection_.*set)(&message_, field_, static_cast<int64_t>(damaged_integer(value, random_)));
    }
  }

  Message& message_;
  const Reflection& reflection_;
  const FieldDescriptor* field_;
  Random& random_;
};

void damage_list(Message& message, const FieldDescriptor* field, Random& random) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, field);
  switch (random.below(3)) {
    case 0:
      return reflection.RemoveLast(&message, field);
    case 1:
      return reflection.SwapElements(&message, field, static_cast<int>(random.below(size)),
                                     static_cast<int>(random.below(size)));
    default:
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        reflection.AddInt64(&message, field, random.below(8));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        reflection.AddUInt32(&message, field, static_cast<uint32_t>(random.below(24)));
      }
  }
}

void damage_in(Message& message, Random& random) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  if (fields.empty()) return;
  const FieldDescriptor* field = random.of(fields);
  const Reflection& reflection = *message.GetReflection();
  if (field->is_repeated() && random.chance(10)) return damage_list(message, field, random);
  const int at = field->is_repeated()
                     ? static_cast<int>(random.below(reflection.FieldSize(message, field)))
                     : 0;
  if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return ScalarDamage(message, field, random).run(at);
  }
  damage_in(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, at)
                                 : *reflection.MutableMessage(&message, field),
            random);
}

int64_t product(const Dims& dims) {
  double result = 1;
  for (int64_t size : dims) result *= static_cast<double>(std::max<int64_t>(size, 1));
  return result > 1e9 ? INT64_MAX : static_cast<int64_t>(result);
}

std::string random_bytes(size_t size, Random& random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

Literal random_literal(const TensorType& type, Random& random) {
  Literal literal(type);
  const std::string bytes = random_bytes(literal.stored_bytes(), random);
  if (type.dtype == DType::kBool) return literal;
  if (!bytes.empty()) std::memcpy(literal.mutable_data(), bytes.data(), bytes.size());
  return literal;
}

void run(const plan::Plan& plan, int ranks, Random& random) {
  std::vector<std::string> arguments;
  for (const plan::Argument& argument : plan.arguments()) {
    size_t bytes = static_cast<size_t>(plan::byte_size(argument.placement().dtype()));
    for (int64_t size : argument.placement().local_shape()) bytes *= static_cast<size_t>(size);
    const bool boolean = argument.placement().dtype() == plan::BOOL;
    arguments.push_back(boolean ? std::string(bytes, '\1') : random_bytes(bytes, random));
  }
  comm::run_local_ranks(ranks, {}, [&](comm::Communicator& communicator) {
    Executor executor(plan, communicator);
    for (size_t i = 0; i < arguments.size(); ++i) {
      executor.set_argument_local(static_cast<int>(i), std::as_bytes(std::span(arguments[i])));
    }
    executor.step();
  });
}

// What `act` throws that is no UserError.
template <typename Act>
std::optional<std::string> internal_error(const char* stage, Act&& act) {
  try {
    act();
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    return std::string(stage) + ": " + error.what();
  }
  return std::nullopt;
}

}  // namespace

void add_types(ir::Module& message, Random& random) {
  const int count = message.types_size();
  for (int i = 0; i < count; ++i) {
    ir::TensorType type = message.types(i);
    if (random.chance(60)) type.set_dtype(random.of(dtype_names()));
    if (type.shape_size() > 0 && random.chance(60)) {
      type.set_shape(static_cast<int>(random.below(type.shape_size())), random.below(5));
    }
    if (random.chance(20)) type.add_shape(random.pick(1, 3));
    *message.add_types() = type;
  }
  for (const char* dtype : {"i1", "i32", "f32", "ui64"}) message.add_types()->set_dtype(dtype);
}

void damage(ir::Module& message, Random& random) {
  // Mostly the program; seldom what it refers to.
  Message* target = &message;
  const auto descend = [&](auto* list) {
    if (list->empty()) return;
    target = list->Mutable(static_cast<int>(random.below(list->size())));
  };
  if (random.chance(75) && !message.functions().empty()) {
    descend(message.mutable_functions());
    auto& fn = static_cast<ir::Function&>(*target);
    descend(fn.mutable_blocks());
    if (target != &fn && random.chance(90)) {
      descend(static_cast<ir::Block&>(*target).mutable_ops());
    }
  }
  damage_in(*target, random);
}

bool is_small(const Module& module) {
  if (module.mesh.num_devices() > 12) return false;
  bool small = true;
  for (const auto& fn : module.functions()) {
    walk(*fn, [&](OpId id) {
      const Op& op = fn->op(id);
      for (ValueId result : op.results) small = small && product(fn->type(result).shape) < 4096;
      if (op.code == OpCode::kWhile) {
        const std::optional<int64_t> trips = trip_count(*fn, id);
        small = small && trips && *trips < 50;
      }
      if (family_of(op.code) == OpFamily::kWindow) {
        small = small && product(op.as<WindowAttrs>().size) < 1000;
      }
    });
    for (ValueId argument : fn->arguments()) {
      small = small && product(fn->type(argument).shape) < 4096;
    }
  }
  return small;
}

std::optional<std::string> failure_of(const Module& module, Random& random) {
  std::vector<Literal> arguments;
  for (ValueId argument : module.main().arguments()) {
    arguments.push_back(random_literal(module.main().type(argument), random));
  }
  if (auto failure = internal_error("evaluate", [&] { evaluate(module, arguments); })) {
    return failure;
  }
  std::optional<plan::Plan> plan;
  if (auto failure = internal_error("compile", [&] {
        CompileOptions options;
        options.verify_each = true;
        plan = compile(module.clone(), options).plan;
      })) {
    return failure;
  }
  if (!plan) return std::nullopt;
  return internal_error("run", [&] {
    plan::verify_plan(*plan);
    run(*plan, static_cast<int>(module.mesh.num_devices()), random);
  });
}

}  // namespace spmd::testing
