// Emitter: turns the instructions of one computation into ops of one block.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontends/hlo_proto/computations.h"
#include "frontends/hlo_proto/locations.h"
#include "frontends/hlo_proto/shardings.h"
#include "frontends/hlo_proto/types.h"
#include "ir/builder.h"
#include "ir/module.h"

namespace spmd::hlo_proto {

// What the emitters of a module share.
struct ModuleContext {
  ModuleContext(const hlo::HloModuleProto& proto, const std::string& source,
                const HloImportOptions& options);

  // The private function of a computation that is called; it is filled later.
  int function_of(const Computation& computation);
  // `file: add "add.3" at scope (file:line)`
  std::string place(const Instruction& instruction);
  // The same of the instruction that an op was created for; empty for ops that none asked for.
  std::string place_of_op(const Function& fn, OpId op);
  [[noreturn]] void fail(const Instruction& instruction, const std::string& fact,
                         const std::string& remedy = "the file is damaged: export it again");
  // Where the leaves of a tuple's element stand among the tuple's. Constant time after the first
  // question about a tuple.
  LeafRange element_leaves(const hlo::ShapeProto& tuple, int index);
  // The same of an element within elements; nullopt when there is none.
  std::optional<LeafRange> leaves_at(const hlo::ShapeProto& shape,
                                     const google::protobuf::RepeatedField<int64_t>& index);

  const std::string source;
  const Places places;
  Computations computations;
  Shardings shardings;
  Locations locations;
  Module module;
  std::vector<const Computation*> pending;  // called, not yet filled
  int depth = 0;                            // of regions
  int64_t num_ops = 0;                      // created so far
  bool has_manual_borders = false;          // custom calls around manual regions
  // By op, null where none is.
  std::unordered_map<const Function*, std::vector<const Instruction*>> instructions_of_ops;

 private:
  std::unordered_map<int, int> functions_;  // by position of the computation
  std::unordered_map<const hlo::ShapeProto*, std::vector<int64_t>> first_leaves_;
};

// The values of a computation's instructions: tuples are lists of leaves.
class ValueTable {
 public:
  struct Range {
    uint32_t first = 0, count = 0;
  };

  explicit ValueTable(const Computation& computation)
      : ranges_(static_cast<size_t>(computation.size())) {}

  Range range(int instruction) const { return ranges_[static_cast<size_t>(instruction)]; }
  void set_range(int instruction, Range range) {
    ranges_[static_cast<size_t>(instruction)] = range;
  }
  void define(int instruction, const std::vector<ValueId>& leaves) {
    set_range(instruction,
              {static_cast<uint32_t>(leaves_.size()), static_cast<uint32_t>(leaves.size())});
    leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
  }
  ValueId leaf(uint32_t position) const { return leaves_[position]; }

 private:
  std::vector<Range> ranges_;
  std::vector<ValueId> leaves_;
};

class Emitter {
 public:
  Emitter(ModuleContext& context, const Computation& computation, ValueTable& table, Function& fn,
          BlockId block)
      : context_(context), computation_(computation), table_(table), builder_(fn, block) {}

  // Emits every instruction; parameter i has the leaves `arguments[i]`. Returns the root's leaves.
  std::vector<ValueId> run(const std::vector<std::vector<ValueId>>& arguments);
  // Emits one instruction that is no parameter.
  void emit(int number);

  // ---- for the handlers of op families

  ModuleContext& context() { return context_; }
  const Computation& computation() const { return computation_; }
  Builder& builder() { return builder_; }
  Function& function() { return builder_.function(); }
  ValueTable& table() { return table_; }
  int current() const { return current_; }

  // Instruction number of the current instruction's operand.
  int operand_number(int index) const {
    return context_.computations.operand(computation_, current_, index);
  }
  // The leaves of an instruction's value, of an operand, of all operands in order.
  std::vector<ValueId> leaves_of(int number) const;
  std::vector<ValueId> operand_leaves(int index) const { return leaves_of(operand_number(index)); }
  std::vector<ValueId> all_operands() const;
  // An operand that must be a single tensor.
  ValueId operand(int index);
  const TensorType& type(ValueId value) { return function().type(value); }
  // The dimension of an instruction that must name one.
  int64_t single_dim(const Instruction& instruction);
  // Types of the current instruction's leaves.
  std::vector<TensorType> result_types(const Instruction& instruction);
  // The type of an instruction that must give a single tensor.
  TensorType result_type(const Instruction& instruction);

  // Creates an op with the instruction's result types, which defines the instruction and gets its
  // shardings.
  OpId create(const Instruction& instruction, OpCode code, std::vector<ValueId> operands,
              Attrs attrs = NoAttrs{});
  // For instructions that several ops, or none, define.
  void define(const std::vector<ValueId>& leaves) { table_.define(current_, leaves); }
  void set_shardings(const Instruction& instruction, const std::vector<ValueId>& leaves);
  [[noreturn]] void fail(const Instruction& instruction, const std::string& fact,
                         const std::string& remedy = kDamaged) {
    context_.fail(instruction, fact, remedy);
  }
  void require(const Instruction& instruction, bool condition, const char* fact) {
    if (!condition) fail(instruction, fact);
  }

  // Adds the computation's parameters to a block as arguments.
  std::vector<ValueId> add_arguments(BlockId block, const Computation& body);
  // Emits a computation into a block, its parameters standing for `leaves`. Returns the root's
  // leaves.
  std::vector<ValueId> run_nested(const Computation& body, BlockId block,
                                  const std::vector<ValueId>& leaves);
  // Adds a region with the computation's parameters as block arguments.
  void add_region(OpId op, const Computation& body);
  // Adds a region without arguments in which the parameters are outer values.
  void add_closed_region(OpId op, const Computation& body, const std::vector<ValueId>& leaves);
  // Emits a computation's ops in this emitter's place. Returns the root's leaves.
  std::vector<ValueId> emit_inline(const Computation& body, const std::vector<ValueId>& leaves);

  // Of map: every scalar stands for a tensor of this shape.
  std::optional<Dims> map_shape;

 private:
  // Splits leaves among the computation's parameters.
  std::vector<std::vector<ValueId>> split(const Computation& body,
                                          const std::vector<ValueId>& leaves);
  // Remembers the instruction of the ops from number `first` on that have none yet.
  void remember(const Instruction& instruction, size_t first);
  ModuleContext& context_;
  const Computation& computation_;
  ValueTable& table_;
  Builder builder_;
  int current_ = 0;
};

}  // namespace spmd::hlo_proto
