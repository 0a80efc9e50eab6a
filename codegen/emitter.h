// Emitter: turns the ops of a function into steps, block by block, in program order.
//
// Elementwise ops do not become steps one by one. Each joins an open group (a fused kernel under
// construction) and the group is closed, that is, becomes a step, when something that is not part
// of it needs one of its values in memory. Hence the invariant that makes every fusion legal: all
// inputs of an open group are written by steps already emitted, so open groups are independent of
// one another. A closed group's step stands at the place of the op that joined it last.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/buffers.h"
#include "codegen/fuse.h"
#include "codegen/scalar.h"
#include "codegen/uses.h"
#include "codegen/views.h"
#include "ir/module.h"

namespace spmd::codegen {

// Where a value is.
struct ValueState {
  enum class Kind : uint8_t {
    kNone,
    kStored,  // in memory, as `view` says
    kLazy,    // nowhere: `expr` is evaluated by whoever needs it; its leaves are in memory
    kMember   // node `node` of group `group`
  };
  Kind kind = Kind::kNone;
  View view;
  std::shared_ptr<const Expr> expr;
  int group = -1, node = -1;
};

class Emitter {
 public:
  Emitter(const Module& module, StorageTable& storages);

  const Module& module() const { return module_; }
  const Function& fn() const { return fn_; }
  StorageTable& storages() { return storages_; }

  // ---- operands

  // The value in memory, written by steps already emitted.
  View stored(ValueId value);
  // The same, row-major without gaps.
  View dense(ValueId value);
  // The same in memory of its own.
  View copied(ValueId value);
  // Whether the value is a constant that no memory holds yet.
  bool is_constant(ValueId value) const;
  const ValueState& state(ValueId value) const { return states_[index_of(value)]; }

  // ---- results

  // Row-major memory of its own for a result.
  View define(ValueId result);
  void define_as(ValueId result, View view);
  void define_lazy(ValueId result, Expr expr);
  // The result is the operand under another name.
  void alias(ValueId result, ValueId operand);
  // The result is a view of the operand; `relabels`: the row-major order of elements is kept.
  using ViewMap = std::function<std::optional<View>(const View&)>;
  void define_view(ValueId result, ValueId operand, bool relabels, const ViewMap& map);
  // An elementwise op.
  void fuse(OpId id);
  // A kernel writes the value to `target`, not necessarily at once, but before anything that is
  // emitted later reads the storage.
  void write(ValueId value, const View& target);
  // Writes the value to `target` at once.
  void assign(ValueId value, const View& target);
  // Fills `target` with a scalar at once.
  void fill(ValueId scalar, const View& target);

  // ---- steps

  // A new step of the op being lowered. Invalidated by the next call of any member.
  plan::Step& add_step();
  void copy(const View& from, const View& to);

  // Emits a block's ops into a sequence; `finish` gets its terminator, which is not emitted.
  plan::Sequence emit_block(BlockId block, const std::function<void(const Op&)>& finish);
  // Puts into memory what the regions of an op read from outside of them.
  void settle_captures(OpId id);

 private:
  struct KeyedStep {
    int64_t key;
    plan::Step step;
  };
  // A block being emitted.
  struct Scope {
    BlockId block;
    OpId op = OpId::kNone;  // being lowered
    std::vector<KeyedStep> steps;
    std::vector<int> groups;
    // States of outer values to restore at the end: what a block puts into memory may not exist
    // outside of it.
    std::vector<std::pair<ValueId, ValueState>> undo;
  };

  Scope& scope() { return scopes_.back(); }
  void set_state(ValueId value, ValueState state);
  void set_member(ValueId value, int id, int node);

  // Groups that were merged live on in another one; this follows the trail, for a node too.
  int find(int id, int* node = nullptr) const;
  Group& group(int id) { return *groups_[static_cast<size_t>(id)].group; }
  // The group that a value is in and its node there, or null when it is in none.
  Group* open_group(ValueId value, int* node = nullptr);
  int new_group(const Dims& shape);
  void touch(int id);
  int merge(int a, int b);
  void close(int id);
  void export_members(Group& group);
  // Closes the groups that write to a storage.
  void settle(int storage);

  void prepare_operand(ValueId operand, const Dims& shape);
  bool defer(OpId id);
  int choose_group(const Op& op, const Dims& shape);
  int sibling_group(const View& view) const;
  void note_reader(const View& view, int id);
  int operand_node(int id, ValueId operand, const Dims& shape);
  Expr operand_expr(ValueId operand, const Dims& shape);
  // A group that holds the expression, and its node there.
  int group_of_expr(const Expr& expr, const Dims& shape, int* node);
  void define_member(ValueId result, const Expr& expr, const Dims& shape);
  void write_expr(const Expr& expr, const View& target);

  const Module& module_;
  const Function& fn_;
  StorageTable& storages_;
  std::vector<ValueUses> uses_;
  std::vector<uint32_t> remaining_;  // uses not yet emitted, by value
  std::vector<ValueState> states_;   // by value
  std::vector<Scope> scopes_;
  struct GroupSlot {
    std::unique_ptr<Group> group;  // null: closed, or merged into `target`
    int target = -1;
    int offset = 0;
  };
  std::vector<GroupSlot> groups_;
  std::vector<int> last_reader_;  // by storage: the last group that reads all of it, or -1
  std::unordered_map<int, std::vector<int>> writers_;  // open groups that write to a storage
  int64_t clock_ = 0;                                  // ops seen
};

}  // namespace spmd::codegen
