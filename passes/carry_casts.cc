#include "passes/carry_casts.h"

#include "ir/builder.h"
#include "ir/opcode.h"

namespace spmd {
namespace {

class CastCarrier {
 public:
  explicit CastCarrier(Module& module) : fn_(module.main()) {}

  std::vector<CarriedValue> run() {
    const std::vector<ValueId> arguments = fn_.arguments();
    for (size_t a = 0; a < arguments.size(); ++a) {
      const int result = fn_.argument_info[a].aliased_result;
      if (result < 0 || !is_computed(fn_.results()[static_cast<size_t>(result)])) continue;
      const Uses uses = fn_.value(arguments[a]).uses;
      for (const Use& use : uses)
        if (narrows(use.op)) carry(static_cast<int>(a), result, use.op);
    }
    return std::move(carried_);
  }

 private:
  // By a kernel that can leave a converted value as well.
  bool is_computed(ValueId value) const {
    const Op* op = fn_.def(value);
    return op != nullptr && op->block == fn_.body() &&
           family_of(op->code) == OpFamily::kElementwise;
  }

  bool narrows(OpId id) const {
    const Op& op = fn_.op(id);
    if (op.code != OpCode::kConvert || op.block != fn_.body()) return false;
    const DType from = fn_.type(op.operands[0]).dtype, to = fn_.type(op.results[0]).dtype;
    return is_float(from) && is_float(to) && byte_size(to) < byte_size(from);
  }

  void carry(int argument, int result, OpId cast) {
    const ValueId narrow = fn_.op(cast).results[0];
    const TensorType type = fn_.type(narrow);
    const OpId last = fn_.terminator(fn_.body());
    Builder builder = Builder::before(fn_, last);
    builder.location = fn_.op(cast).location;
    ValueIds results = fn_.results();
    results.push_back(builder.convert(results[static_cast<size_t>(result)], type.dtype));

    const ValueId companion = fn_.add_block_argument(fn_.body(), type);
    fn_.replace_all_uses(narrow, companion);
    fn_.erase_op(cast);
    fn_.set_operands(last, std::move(results));

    carried_.push_back({static_cast<int>(fn_.arguments().size()) - 1,
                        static_cast<int>(fn_.results().size()) - 1, argument});
    fn_.argument_info.emplace_back().aliased_result = carried_.back().result;
    fn_.result_info.emplace_back();
  }

  Function& fn_;
  std::vector<CarriedValue> carried_;
};

}  // namespace

std::vector<CarriedValue> carry_casts(Module& module) { return CastCarrier(module).run(); }

}  // namespace spmd
