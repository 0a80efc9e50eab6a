#include "codegen/coalesce.h"

#include <algorithm>
#include <numeric>

#include "codegen/attention_kernels.h"
#include "codegen/step_tree.h"
#include "codegen/views.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

// When a storage is used. `block` is the innermost one that holds all its accesses.
struct Usage {
  std::vector<int> steps;  // every access, in no particular order after unions
  int first = -1, last = -1;
  int block = -1;
  bool used() const { return first >= 0; }
};

std::vector<Usage> collect_usages(const StepTree& tree, size_t num_storages) {
  std::vector<Usage> usages(num_storages);
  for (int s = 0; s < tree.num_steps(); ++s) {
    for_each_view(*tree[s].step, [&](plan::View& view, bool) {
      Usage& usage = usages[static_cast<size_t>(view.buffer())];
      if (!usage.used()) usage.first = s;
      usage.block = usage.used() && usage.block >= 0 ? tree.common_block(usage.block, tree[s].block)
                                                     : tree[s].block;
      usage.last = s;
      if (usage.steps.empty() || usage.steps.back() != s) usage.steps.push_back(s);
    });
  }
  return usages;
}

// The same elements in the same places, for views that share a shape.
bool same_window(const plan::View& a, const plan::View& b) {
  return a.offset() == b.offset() && plan::byte_size(a.dtype()) == plan::byte_size(b.dtype()) &&
         std::equal(a.strides().begin(), a.strides().end(), b.strides().begin(), b.strides().end());
}

class Coalescer {
 public:
  Coalescer(plan::Sequence& body, const StorageTable& storages,
            const std::vector<AliasedPair>& aliased)
      : storages_(storages),
        aliased_(aliased),
        tree_(body),
        usages_(collect_usages(tree_, static_cast<size_t>(storages.size()))),
        parent_(static_cast<size_t>(storages.size())),
        dead_(static_cast<size_t>(tree_.num_steps()), false) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::vector<int> run_copies() {
    for (int s = 0; s < tree_.num_steps(); ++s) remove_copy(s);
    return finish();
  }

  std::vector<int> run() {
    for (int s = 0; s < tree_.num_steps(); ++s) remove_copy(s);
    for (const AliasedPair& pair : aliased_) update_state_in_place(pair);
    for (int s = 0; s < tree_.num_steps(); ++s)
      if (!dead_[static_cast<size_t>(s)]) work_in_place(s);
    return finish();
  }

 private:
  std::vector<int> finish() {
    std::vector<int> result(parent_.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = find(static_cast<int>(i));
    rewrite(result);
    return result;
  }

  int find(int storage) {
    while (parent_[static_cast<size_t>(storage)] != storage) {
      int& up = parent_[static_cast<size_t>(storage)];
      up = parent_[static_cast<size_t>(up)];
      storage = up;
    }
    return storage;
  }
  Usage& usage(int storage) { return usages_[static_cast<size_t>(storage)]; }
  bool is_arena(int storage) const { return storages_[storage].kind == plan::Buffer::ARENA; }

  // `from`'s views become views of `into`.
  void unite(int from, int into) {
    Usage& a = usage(from);
    Usage& b = usage(into);
    if (a.used()) {
      b.block = b.used() ? tree_.common_block(a.block, b.block) : a.block;
      b.first = b.used() ? std::min(a.first, b.first) : a.first;
      b.last = std::max(a.last, b.last);
      if (a.steps.size() > b.steps.size()) std::swap(a.steps, b.steps);
      b.steps.insert(b.steps.end(), a.steps.begin(), a.steps.end());
    }
    a = {};
    parent_[static_cast<size_t>(from)] = into;
  }

  bool is_whole(const plan::View& view, const plan::Elementwise& copy) {
    int64_t stride = 1;
    for (int d = copy.shape_size(); d-- > 0; stride *= copy.shape(d))
      if (view.strides(d) != stride) return false;
    return view.offset() == 0 &&
           stride * plan::byte_size(view.dtype()) == storages_[find(view.buffer())].bytes;
  }

  void remove_copy(int s) {
    const plan::Step& step = *tree_[s].step;
    if (!step.has_elementwise()) return;
    const plan::Elementwise& copy = step.elementwise();
    if (copy.inputs_size() != 1 || copy.outputs_size() != 1 ||
        copy.program().instructions_size() != 0)
      return;
    const int from = find(copy.inputs(0).buffer()), into = find(copy.outputs(0).buffer());
    if (from == into || !is_arena(from)) return;
    if (is_whole(copy.inputs(0), copy) && is_whole(copy.outputs(0), copy) &&
        can_write_into(from, into, s)) {
      unite(from, into);
      dead_[static_cast<size_t>(s)] = true;
    } else {
      redirect_writer(copy, s);
    }
  }

  // Whether the value that step `s` copies from storage `from` to `into` can be made in `into`:
  // from its first write on to the copy, nobody may access what `into` held until then.
  bool can_write_into(int from, int into, int s) {
    const int block = tree_[s].block;
    const Usage& source = usage(from);
    const Usage& target = usage(into);
    // Nothing else happens to a result: it can be all that its source ever is.
    if (target.first == s && target.last == s && storages_[into].kind == plan::Buffer::RESULT)
      return true;
    if (source.block != block || tree_.ancestor_in(source.last, block) != s) return false;
    const int begin = tree_.ancestor_in(source.first, block);
    return std::all_of(target.steps.begin(), target.steps.end(), [&](int access) {
      const int at = tree_.ancestor_in(access, block);
      if (dead_[static_cast<size_t>(access)] || at < begin || at >= s) return true;
      return at == begin && access == at && replaces_in_place(at, into, from);
    });
  }

  // Lets the step that makes what step `s` copies write to the copy's destination.
  void redirect_writer(const plan::Elementwise& copy, int s) {
    const int from = find(copy.inputs(0).buffer()), into = find(copy.outputs(0).buffer());
    const Usage& source = usage(from);
    const int writer = source.first, block = tree_[s].block;
    if (source.steps.size() != 2 || source.last != s || tree_[writer].block != block) return;
    Dims shape;
    plan::View* output = strided_output(
        *tree_[writer].step, [&](int buffer) { return find(buffer) == from; }, &shape);
    if (output == nullptr) return;
    for (int access : usage(into).steps) {
      const int at = tree_.ancestor_in(access, block);
      if (dead_[static_cast<size_t>(access)] || at < writer || at >= s) continue;
      if (!storages_[into].disjoint_writes || !only_writes(access, into)) return;
    }
    const Dims sizes(copy.shape().begin(), copy.shape().end());
    const View written = from_plan(*output, shape);
    const std::optional<View> moved =
        written.num_elements() * byte_size(written.dtype) != storages_[from].bytes
            ? std::nullopt
            : redirected(written, from_plan(copy.inputs(0), sizes),
                         from_plan(copy.outputs(0), sizes));
    if (!moved || !may_write(*tree_[writer].step, *moved)) return;
    const bool has_shape = output->shape_size() > 0;
    *output = to_plan(*moved, has_shape);
    dead_[static_cast<size_t>(s)] = true;
    usage(from) = {};
    Usage& target = usage(into);
    target.steps.push_back(writer);
    target.first = std::min(target.first, writer);
    target.block = tree_.common_block(target.block, block);
  }

  // Whether the step can have its output there.
  static bool may_write(const plan::Step& step, const View& output) {
    return (!step.has_attention() && !step.has_attention_backward()) ||
           fits_attention_kernel(output);
  }

  bool only_writes(int s, int storage) {
    bool reads = false;
    for_each_view(*tree_[s].step, [&](plan::View& view, bool writes) {
      reads = reads || (!writes && find(view.buffer()) == storage);
    });
    return !reads;
  }

  // Whether step `s` reads `old_storage` only element by element, in the very places where it
  // writes `new_storage`, so that both can be the same memory.
  bool replaces_in_place(int s, int old_storage, int new_storage) {
    plan::Step& step = *tree_[s].step;
    const plan::View *old_view = nullptr, *new_view = nullptr;
    const auto classify = [&](const plan::View& read, const plan::View& write) {
      if (find(read.buffer()) == old_storage) old_view = &read;
      if (find(write.buffer()) == new_storage) new_view = &write;
    };
    int old_accesses = 0, new_accesses = 0;
    for_each_view(step, [&](plan::View& view, bool) {
      old_accesses += find(view.buffer()) == old_storage ? 1 : 0;
      new_accesses += find(view.buffer()) == new_storage ? 1 : 0;
    });
    if (step.has_elementwise())
      return new_accesses == 1 && kernel_replaces(step.elementwise(), old_storage, new_storage);
    if (old_accesses != 1 || new_accesses != 1) return false;
    if (step.has_collective()) {
      if (step.collective().kind() != plan::Collective::ALL_REDUCE) return false;
      for (const plan::Collective::Part& part : step.collective().parts())
        if (find(part.in().buffer()) == old_storage) classify(part.in(), part.out());
    } else if (step.has_dynamic_update_slice()) {
      classify(step.dynamic_update_slice().operand(), step.dynamic_update_slice().out());
    } else if (step.has_scatter()) {
      for (int i = 0; i < step.scatter().operands_size(); ++i)
        if (find(step.scatter().operands(i).buffer()) == old_storage)
          classify(step.scatter().operands(i), step.scatter().outs(i));
    }
    return old_view != nullptr && new_view != nullptr && same_window(*old_view, *new_view);
  }

  bool kernel_replaces(const plan::Elementwise& kernel, int old_storage, int new_storage) {
    const auto output =
        std::find_if(kernel.outputs().begin(), kernel.outputs().end(),
                     [&](const plan::View& view) { return find(view.buffer()) == new_storage; });
    if (output == kernel.outputs().end()) return false;
    bool reads = false;
    for (int i = 0; i < kernel.inputs_size(); ++i) {
      if (find(kernel.inputs(i).buffer()) != old_storage) continue;
      if (!same_window(kernel.inputs(i), *output)) return false;
      // An input that is also an output as it is may be read after others have been written.
      const auto& outputs = kernel.program().outputs();
      if (std::find(outputs.begin(), outputs.end(), i) != outputs.end()) return false;
      reads = true;
    }
    return reads &&
           std::none_of(kernel.outputs().begin(), kernel.outputs().end(),
                        [&](const plan::View& view) { return find(view.buffer()) == old_storage; });
  }

  void update_state_in_place(const AliasedPair& pair) {
    const int argument = find(pair.argument), result = find(pair.result);
    if (argument == result || storages_[result].kind != plan::Buffer::RESULT ||
        storages_[argument].kind != plan::Buffer::ARGUMENT ||
        storages_[argument].bytes != storages_[result].bytes || !usage(result).used())
      return;
    const int begin = tree_.ancestor_in(usage(result).first, 0);
    for (int access : usage(argument).steps) {
      const int at = tree_.ancestor_in(access, 0);
      if (at < begin) continue;
      if (at != begin || access != at || !replaces_in_place(at, argument, result)) return;
    }
    unite(result, argument);
  }

  // Lets a step write where it reads, if the operand ends there and the result begins there.
  void work_in_place(int s) {
    plan::Step& step = *tree_[s].step;
    std::vector<int> operands, outputs;
    if (!step.has_elementwise() && !step.has_dynamic_update_slice() && !step.has_scatter() &&
        !step.has_collective())
      return;
    for_each_view(step, [&](plan::View& view, bool writes) {
      (writes ? outputs : operands).push_back(find(view.buffer()));
    });
    for (int output : outputs) {
      if (find(output) != output || !begins_at(output, s)) continue;
      for (int operand : operands) {
        if (find(operand) != operand || operand == output || !is_arena(operand)) continue;
        if (storages_[operand].bytes != storages_[output].bytes || !ends_at(operand, s)) continue;
        if (!replaces_in_place(s, operand, output)) continue;
        unite(operand, output);
        break;
      }
    }
  }
  bool begins_at(int storage, int s) {
    return usage(storage).first == s && usage(storage).block == tree_[s].block;
  }
  bool ends_at(int storage, int s) {
    return usage(storage).last == s && usage(storage).block == tree_[s].block;
  }

  void rewrite(const std::vector<int>& storage_of) {
    for (int s = 0; s < tree_.num_steps(); ++s)
      for_each_view(*tree_[s].step, [&](plan::View& view, bool) {
        view.set_buffer(storage_of[static_cast<size_t>(view.buffer())]);
      });
    for (int s = 0; s < tree_.num_steps(); ++s)
      if (dead_[static_cast<size_t>(s)]) tree_[s].step->clear_kind();
    for (const StepTree::Block& block : tree_.blocks()) drop_empty_steps(*block.sequence);
  }

  const StorageTable& storages_;
  const std::vector<AliasedPair> aliased_;
  StepTree tree_;
  std::vector<Usage> usages_;
  std::vector<int> parent_;
  std::vector<bool> dead_;
};

}  // namespace

std::vector<int> coalesce(plan::Sequence& body, const StorageTable& storages,
                          const std::vector<AliasedPair>& aliased) {
  return Coalescer(body, storages, aliased).run();
}

std::vector<int> remove_copies(plan::Sequence& body, const StorageTable& storages) {
  return Coalescer(body, storages, {}).run_copies();
}

std::vector<Lifetime> lifetimes(plan::Sequence& body, const StorageTable& storages) {
  const StepTree tree(body);
  const std::vector<Usage> usages = collect_usages(tree, static_cast<size_t>(storages.size()));
  std::vector<Lifetime> result;
  for (int id = 0; id < storages.size(); ++id) {
    const Usage& usage = usages[static_cast<size_t>(id)];
    if (!usage.used() || storages[id].kind != plan::Buffer::ARENA) continue;
    Lifetime lifetime;
    lifetime.storage = id;
    lifetime.bytes = storages[id].bytes;
    lifetime.first = tree.ancestor_in(usage.first, usage.block);
    lifetime.last = tree[tree.ancestor_in(usage.last, usage.block)].last;
    result.push_back(lifetime);
  }
  return result;
}

}  // namespace spmd::codegen
