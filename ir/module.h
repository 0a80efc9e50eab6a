// Module, Function, Block, Op, Value: the intermediate representation.
//
// A module holds functions; a function owns all its blocks, ops and values, nested ones included,
// in tables indexed by id. Ids are stable under mutation (an erased id is not reused until
// compact()), so passes keep side tables as vectors indexed by id. Every region has exactly one
// block. References to Op, Value and Block stay valid while other entries are added.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/attrs.h"
#include "ir/opcode.h"
#include "sharding/spec/mesh.h"
#include "support/chunked_vector.h"
#include "support/inline_vector.h"

namespace spmd {

enum class OpId : uint32_t { kNone = UINT32_MAX };
enum class ValueId : uint32_t { kNone = UINT32_MAX };
enum class BlockId : uint32_t { kNone = UINT32_MAX };

inline size_t index_of(OpId id) { return static_cast<size_t>(id); }
inline size_t index_of(ValueId id) { return static_cast<size_t>(id); }
inline size_t index_of(BlockId id) { return static_cast<size_t>(id); }

// Where an op came from. `name` is the producer's scope ("jit(step)/dot_general"); `file` and
// `line` the user's source, or the place in the file that was read.
struct Location {
  std::string name;
  std::string file;
  int line = 0;
  bool operator==(const Location&) const = default;
  std::string to_string() const;  // "name (file:line)", "file:line", "name" or "unknown location"
};
using LocationRef = std::shared_ptr<const Location>;

struct Use {
  OpId op;
  uint32_t operand;
};

using ValueIds = InlineVector<ValueId, 4>;
using BlockIds = InlineVector<BlockId, 2>;
using Uses = InlineVector<Use, 2>;

struct Value {
  TensorType type;
  OpId def = OpId::kNone;          // kNone: an argument of `block`
  BlockId block = BlockId::kNone;  // of the argument; kNone for results
  uint32_t index = 0;              // result or argument number
  ShardingRef sharding;            // null: unknown (open everywhere)
  Uses uses;                       // in no particular order
};

// Two cache lines, of which walks and most questions need the first.
struct alignas(64) Op {
  OpCode code = OpCode::kReturn;
  BlockId block = BlockId::kNone;  // kNone: erased
  OpId prev = OpId::kNone, next = OpId::kNone;
  ValueIds operands;
  ValueIds results;

  BlockIds regions;
  BoxedAttrs attrs;
  LocationRef location;
  InlineVector<uint32_t, 4> use_slots;  // position of each operand in its value's `uses`

  template <typename A>
  const A& as() const {
    return std::get<A>(attrs.get());
  }
  template <typename A>
  A& as() {
    return std::get<A>(attrs.get());
  }
};
static_assert(sizeof(Op) == 128);

struct Block {
  std::vector<ValueId> args;
  OpId first = OpId::kNone, last = OpId::kNone;
  OpId parent = OpId::kNone;  // kNone: the function's body
};

struct ArgumentInfo {
  std::string name;         // parameter name, or empty
  int aliased_result = -1;  // result that replaces this argument in the next step, or -1
  bool donated = false;     // may be overwritten though nothing is named to replace it
  // In a localised module, whose types are local: the whole tensor's shape, without padding. The
  // argument's sharding says how it is cut.
  std::optional<Dims> global_shape;
  bool operator==(const ArgumentInfo&) const = default;
};

struct ResultInfo {
  std::string name;
  ShardingRef sharding;
  std::optional<Dims> global_shape;  // as in ArgumentInfo
};

class Function {
 public:
  explicit Function(std::string name) : name_(std::move(name)) { body_ = add_block(OpId::kNone); }

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }  // see Module::rename_function()
  bool is_private() const { return private_; }
  void set_private(bool value) { private_ = value; }

  BlockId body() const { return body_; }
  const std::vector<ValueId>& arguments() const { return block(body_).args; }
  // One entry per argument and per result; sized by whoever builds the function.
  std::vector<ArgumentInfo> argument_info;
  std::vector<ResultInfo> result_info;
  // The operands of the body's return.
  const ValueIds& results() const { return op(terminator(body_)).operands; }

  const Op& op(OpId id) const { return ops_[index_of(id)]; }
  Op& op(OpId id) { return ops_[index_of(id)]; }
  const Value& value(ValueId id) const { return values_[index_of(id)]; }
  Value& value(ValueId id) { return values_[index_of(id)]; }
  const Block& block(BlockId id) const { return blocks_[index_of(id)]; }
  Block& block(BlockId id) { return blocks_[index_of(id)]; }
  const TensorType& type(ValueId id) const { return value(id).type; }
  // Sizes of the id spaces, erased ids included.
  size_t num_op_ids() const { return ops_.size(); }
  size_t num_value_ids() const { return values_.size(); }
  size_t num_block_ids() const { return blocks_.size(); }
  bool is_erased(OpId id) const { return op(id).block == BlockId::kNone; }
  size_t num_live_ops() const { return live_ops_; }

  // The op that defines a value, or null for a block argument.
  const Op* def(ValueId id) const {
    const OpId op_id = value(id).def;
    return op_id == OpId::kNone ? nullptr : &op(op_id);
  }
  OpId terminator(BlockId id) const { return block(id).last; }
  OpId parent_op(OpId id) const { return block(op(id).block).parent; }

  BlockId add_block(OpId parent);
  ValueId add_block_argument(BlockId id, TensorType type, ShardingRef sharding = nullptr);
  // Removes an argument that has no uses.
  void erase_block_argument(BlockId id, size_t index);

  // Creates an op before `before`, or at the end of `where` when `before` is kNone. Regions are
  // added afterwards with add_region().
  OpId insert_op(BlockId where, OpId before, OpCode code, ValueIds operands,
                 std::vector<TensorType> result_types, Attrs attrs, LocationRef location);
  BlockId add_region(OpId id);
  void set_operand(OpId id, size_t index, ValueId value);
  void set_operands(OpId id, ValueIds operands);
  // Adds a result of the given type (for loop carries that grow).
  ValueId add_result(OpId id, TensorType type);
  // Removes a result that has no uses.
  void erase_result(OpId id, size_t index);
  void replace_all_uses(ValueId from, ValueId to);
  // Moves an op before `before` (kNone: to the end of `where`).
  void move_op(OpId id, BlockId where, OpId before);
  // Erases an op without uses, and everything in its regions.
  void erase_op(OpId id);

  // Renumbers ids densely in program order. Invalidates every id.
  void compact();

 private:
  void link(OpId id, BlockId where, OpId before);
  void unlink(OpId id);
  void add_use(OpId id, uint32_t operand);
  void drop_use(OpId id, uint32_t operand);
  void drop_uses_in(BlockId id);

  std::string name_;
  bool private_ = false;
  BlockId body_;
  ChunkedVector<Op> ops_;
  ChunkedVector<Value> values_;
  ChunkedVector<Block> blocks_;
  size_t live_ops_ = 0;
};

// Iterates the ops of a block; the op under the iterator may be erased if the next one was taken
// first, as for_each_op does.
template <typename Fn>
void for_each_op(const Function& fn, BlockId block, Fn&& visit) {
  for (OpId id = fn.block(block).first; id != OpId::kNone;) {
    const OpId next = fn.op(id).next;
    visit(id);
    id = next;
  }
}

// Visits every op in program order, an op before the ops of its regions.
template <typename Fn>
void walk(const Function& fn, BlockId block, Fn&& visit) {
  for (OpId id = fn.block(block).first; id != OpId::kNone;) {
    const OpId next = fn.op(id).next;
    visit(id);
    if (!fn.is_erased(id)) {
      for (size_t r = 0; r < fn.op(id).regions.size(); ++r) walk(fn, fn.op(id).regions[r], visit);
    }
    id = next;
  }
}
template <typename Fn>
void walk(const Function& fn, Fn&& visit) {
  walk(fn, fn.body(), visit);
}

// What is said to people about how a program was read.
struct ReadingNote {
  std::string place;
  std::string text;
};

class Module {
 public:
  std::string name = "module";
  std::string source;  // the file it was read from, for messages
  Mesh mesh;           // no axes: the program has no shardings
  std::string mesh_name = "mesh";

  const std::vector<std::unique_ptr<Function>>& functions() const { return functions_; }
  Function& function(int index) { return *functions_[static_cast<size_t>(index)]; }
  const Function& function(int index) const { return *functions_[static_cast<size_t>(index)]; }
  int add_function(std::string name);
  // To a name that no function has.
  void rename_function(int index, std::string name);
  std::optional<int> find_function(std::string_view name) const;
  // The entry function. Throws UserError when there is none.
  Function& main();
  const Function& main() const;
  // Removes functions that nothing reachable from main calls.
  void drop_unreachable_functions();

  // Of each text once, with the place that was first. They are no part of what the program means:
  // neither text nor proto holds them.
  const std::vector<ReadingNote>& notes() const { return notes_; }
  void note(const std::string& place, const std::string& text);

  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module clone() const;

 private:
  std::vector<std::unique_ptr<Function>> functions_;
  std::unordered_map<std::string, int> by_name_;
  std::vector<ReadingNote> notes_;
};

}  // namespace spmd
