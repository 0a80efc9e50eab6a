#include "codegen/emit_plan.h"

#include <set>

#include "codegen/assign_streams.h"
#include "codegen/cluster_collectives.h"
#include "codegen/coalesce.h"
#include "codegen/combine_collectives.h"
#include "codegen/dot_epilogues.h"
#include "codegen/emitter.h"
#include "codegen/group_steps.h"
#include "codegen/order_steps.h"
#include "codegen/product_layout.h"
#include "codegen/step_tree.h"
#include "runtime/plan/plan.h"
#include "support/error.h"

namespace spmd {
namespace codegen {
namespace {

plan::Placement placement(const TensorType& local, const GlobalTensor& global) {
  plan::Placement result;
  result.set_dtype(to_plan(local.dtype));
  result.mutable_global_shape()->Add(global.shape.begin(), global.shape.end());
  result.mutable_local_shape()->Add(local.shape.begin(), local.shape.end());
  for (const AxisList& axes : global.axes) *result.add_axes() = to_plan(axes);
  return result;
}

class PlanEmitter {
 public:
  PlanEmitter(const Module& module, const EmitInfo& info)
      : module_(module), fn_(module.main()), info_(info) {
    SPMD_CHECK(info.arguments.size() == fn_.arguments().size() &&
               info.results.size() == fn_.results().size());
  }

  plan::Plan run() {
    header();
    Emitter emitter(module_, storages_);
    arguments(emitter);
    plan::Sequence body =
        emitter.emit_block(fn_.body(), [&](const Op& last) { results(emitter, last); });
    if (info_.combine_bytes > 0) {
      cluster_collectives(body, storages_, info_.combine_bytes);
      combine_collectives(body, info_.combine_bytes);
    }
    const std::vector<int> fused = fuse(body);
    const std::vector<AliasedPair> aliased = aliased_pairs();
    order_steps(body, storages_, aliased);
    std::vector<int> storage_of = coalesce(body, storages_, aliased);
    for (size_t i = 0; i < fused.size(); ++i)
      storage_of[i] = storage_of[static_cast<size_t>(fused[i])];
    if (info_.group_steps) group_steps(body, storages_, info_.fusions);
    buffers(body, storage_of);
    plan_.add_programs()->mutable_body()->Swap(&body);
    if (info_.shape_products) add_dot_epilogues(plan_, info_.fusions);
    if (info_.streams) assign_streams(plan_);
    return std::move(plan_);
  }

 private:
  void header() {
    plan_.set_magic(plan::kPlanMagic);
    plan_.set_version(plan::kPlanVersion);
    plan_.set_reader_version(plan::kReaderVersion);
    plan_.set_producer("spmd");
    plan_.set_source(module_.source);
    for (const MeshAxis& axis : module_.mesh.axes()) {
      plan::MeshAxis* entry = plan_.add_mesh();
      entry->set_name(axis.name);
      entry->set_size(axis.size);
    }
    const std::vector<int64_t>& order = module_.mesh.device_ids();
    plan_.mutable_device_ids()->Add(order.begin(), order.end());
  }

  void arguments(Emitter& emitter) {
    for (size_t i = 0; i < fn_.arguments().size(); ++i) {
      const ValueId value = fn_.arguments()[i];
      const TensorType& type = fn_.type(value);
      const int storage = storages_.add(plan::Buffer::ARGUMENT, type.num_bytes());
      emitter.define_as(value, dense_view(storage, type));
      if (const CarriedValue* carried = carried_by(&CarriedValue::argument, i)) {
        add_carried(*carried, dense_view(storage, type));
        continue;
      }
      plan::Argument* argument = plan_.add_arguments();
      argument->set_name(info_.arguments[i].name);
      *argument->mutable_placement() = placement(type, info_.arguments[i]);
      argument->set_buffer(storage);
      argument->set_index_bound(info_.arguments[i].index_bound);
      argument->set_aliased_result(
          i < fn_.argument_info.size() ? fn_.argument_info[i].aliased_result : -1);
    }
  }

  // The carried value whose argument or result is number `i`; null: there is none.
  const CarriedValue* carried_by(int CarriedValue::*number, size_t i) const {
    for (const CarriedValue& carried : info_.carried)
      if (carried.*number == static_cast<int>(i)) return &carried;
    return nullptr;
  }

  void add_carried(const CarriedValue& value, const View& view) {
    const auto source = static_cast<size_t>(value.source);
    const TensorType& type = fn_.type(fn_.arguments()[source]);
    plan::Carried* carried = plan_.add_carried();
    carried->set_buffer(view.storage);
    carried->set_argument(value.source);
    carried->mutable_derive()->set_op(info_.arguments[source].name);
    plan::Elementwise& map = *carried->mutable_derive()->mutable_elementwise();
    map.mutable_shape()->Add(view.shape.begin(), view.shape.end());
    map.mutable_program()->add_inputs(to_plan(type.dtype));
    plan::Instruction* convert = map.mutable_program()->add_instructions();
    convert->set_op(plan::CONVERT);
    convert->set_dtype(to_plan(view.dtype));
    convert->add_args(0);
    map.mutable_program()->add_outputs(1);
    *map.add_inputs() = to_plan(dense_view(plan_.arguments(value.source).buffer(), type), false);
    *map.add_outputs() = to_plan(view, false);
  }

  // The argument that a result is as it came, or -1. Of an argument that another result replaces,
  // the storage holds the new value as soon as the step is over.
  int returned_argument(const Emitter& emitter, ValueId value, int result) const {
    const ValueState& state = emitter.state(value);
    if (state.kind != ValueState::Kind::kStored) return -1;
    const int argument = state.view.storage;  // arguments have the first storages
    if (argument >= plan_.arguments_size()) return -1;
    const TensorType& type = fn_.type(fn_.arguments()[static_cast<size_t>(argument)]);
    const int replaced_by = plan_.arguments(argument).aliased_result();
    const bool whole = fn_.type(value) == type && state.view == dense_view(argument, type);
    return whole && (replaced_by < 0 || replaced_by == result) ? argument : -1;
  }

  void results(Emitter& emitter, const Op& last) {
    int carried_results = 0;
    for (size_t i = 0; i < last.operands.size(); ++i) {
      const ValueId value = last.operands[i];
      const TensorType& type = fn_.type(value);
      if (carried_by(&CarriedValue::result, i) != nullptr) {
        const int next = storages_.add(plan::Buffer::RESULT, type.num_bytes());
        plan_.mutable_carried(carried_results++)->set_next(next);
        emitter.assign(value, dense_view(next, type));
        continue;
      }
      plan::Result* result = plan_.add_results();
      result->set_name(info_.results[i].name);
      *result->mutable_placement() = placement(type, info_.results[i]);
      const int argument = returned_argument(emitter, value, static_cast<int>(i));
      if (argument >= 0) {
        result->set_buffer(plan_.arguments(argument).buffer());
        continue;
      }
      const int storage = storages_.add(plan::Buffer::RESULT, type.num_bytes());
      result->set_buffer(storage);
      emitter.assign(value, dense_view(storage, type));
    }
  }

  // Arguments whose storage the result that replaces them may use: no other result is in it.
  std::vector<AliasedPair> aliased_pairs() const {
    std::set<int> returned;
    for (const plan::Result& result : plan_.results()) returned.insert(result.buffer());
    std::vector<AliasedPair> pairs;
    for (const plan::Argument& argument : plan_.arguments()) {
      if (argument.aliased_result() < 0 || returned.contains(argument.buffer())) continue;
      pairs.push_back({argument.buffer(), plan_.results(argument.aliased_result()).buffer()});
    }
    for (const plan::Carried& carried : plan_.carried())
      pairs.push_back({carried.buffer(), carried.next()});
    return pairs;
  }

  // Fuses rows if asked to. Copies go first, so that they are no steps to be fused; memory is
  // shared only after, since a kernel of several loops cannot write where it reads. Returns which
  // storage each has become.
  std::vector<int> fuse(plan::Sequence& body) {
    if (!info_.fuse_rows) return {};
    std::vector<int> storage_of = remove_copies(body, storages_);
    if (info_.shape_products) lay_out_products(body, storages_);
    std::vector<FusionNote> notes = fuse_rows(body, storages_, *info_.fuse_rows);
    if (info_.fusions != nullptr) *info_.fusions = std::move(notes);
    return storage_of;
  }

  // Numbers the storages that are left and places them.
  void buffers(plan::Sequence& body, const std::vector<int>& storage_of) {
    std::vector<Lifetime> lives = lifetimes(body, storages_);
    plan_.set_arena_bytes(assign_offsets(lives));
    std::vector<int> numbers(static_cast<size_t>(storages_.size()), -1);
    const auto number = [&](int storage) {
      int& known = numbers[static_cast<size_t>(storage)];
      if (known >= 0) return known;
      known = plan_.buffers_size();
      plan::Buffer* buffer = plan_.add_buffers();
      buffer->set_kind(storages_[storage].kind);
      buffer->set_bytes(storages_[storage].bytes);
      buffer->set_data(std::move(storages_[storage].data));
      return known;
    };
    for (plan::Argument& argument : *plan_.mutable_arguments())
      argument.set_buffer(number(argument.buffer()));
    for (plan::Result& result : *plan_.mutable_results())
      result.set_buffer(number(storage_of[static_cast<size_t>(result.buffer())]));
    const auto renumber = [&](plan::View& view, bool) { view.set_buffer(number(view.buffer())); };
    for (plan::Carried& carried : *plan_.mutable_carried()) {
      carried.set_buffer(number(carried.buffer()));
      carried.set_next(number(storage_of[static_cast<size_t>(carried.next())]));
      for_each_view(*carried.mutable_derive(), renumber);
    }
    const StepTree tree(body);
    for (int s = 0; s < tree.num_steps(); ++s) for_each_view(*tree[s].step, renumber);
    for (const Lifetime& life : lives)
      plan_.mutable_buffers(number(life.storage))->set_offset(life.offset);
  }

  const Module& module_;
  const Function& fn_;
  const EmitInfo& info_;
  StorageTable storages_;
  plan::Plan plan_;
};

}  // namespace
}  // namespace codegen

EmitInfo unsharded_info(const Module& module) {
  const Function& fn = module.main();
  EmitInfo info;
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    const Dims& shape = fn.type(fn.arguments()[i]).shape;
    const std::string name = i < fn.argument_info.size() ? fn.argument_info[i].name : "";
    info.arguments.push_back({name, shape, std::vector<AxisList>(shape.size())});
  }
  for (size_t i = 0; i < fn.results().size(); ++i) {
    const Dims& shape = fn.type(fn.results()[i]).shape;
    const std::string name = i < fn.result_info.size() ? fn.result_info[i].name : "";
    info.results.push_back({name, shape, std::vector<AxisList>(shape.size())});
  }
  return info;
}

plan::Plan emit_plan(const Module& module, const EmitInfo& info) {
  return codegen::PlanEmitter(module, info).run();
}

}  // namespace spmd
