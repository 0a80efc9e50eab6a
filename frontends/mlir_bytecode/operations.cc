#include "frontends/mlir_bytecode/operations.h"

#include "frontends/mlir_bytecode/cursor.h"
#include "support/error.h"

namespace spmd::mlir_bytecode {
namespace {

// Bits that say which parts of an operation follow.
enum : uint8_t {
  kHasAttributes = 0x01,
  kHasResults = 0x02,
  kHasOperands = 0x04,
  kHasSuccessors = 0x08,
  kHasRegions = 0x10,
  kHasUseOrders = 0x20,
  kHasProperties = 0x40,
};

constexpr int kMaxDepth = 200;  // hostile input must not exhaust the stack
constexpr uint32_t kUndefined = UINT32_MAX;

class OperationReader {
 public:
  OperationReader(const Origin& origin, const Container& container)
      : origin_(origin), container_(container) {}

  Program read() {
    Cursor cursor(origin_, container_.ir);
    scopes_.emplace_back();
    Block top;
    read_block(cursor, top, 0);
    cursor.expect_end("the operations");
    return {std::move(top.operations), num_values_};
  }

 private:
  // Values are numbered from the outermost region that is not isolated from what is around it; a
  // nested region counts on from where its parent ends. To each number belongs the number in the
  // whole program.
  using Scope = std::vector<uint32_t>;

  void read_block(Cursor& cursor, Block& block, size_t next) {
    block.offset = cursor.offset();
    const size_t start = cursor.offset();
    const auto [count, has_arguments] = cursor.flagged_varint();
    block.first_argument = static_cast<uint32_t>(num_values_);
    if (has_arguments) read_arguments(cursor, block, next);
    constexpr size_t kLeastBytes = 3;  // name, bits, location
    if (count > cursor.remaining() / kLeastBytes) {
      origin_.fail(start, fmt::format("the number of operations is {}, more than the {} bytes that "
                                      "follow can hold",
                                      count, cursor.remaining()));
    }
    for (uint64_t i = 0; i < count; ++i) {
      block.operations.emplace_back();
      read_operation(cursor, block.operations.back(), next);
    }
  }

  void read_arguments(Cursor& cursor, Block& block, size_t& next) {
    const size_t count = cursor.count("the number of arguments");
    block.arguments.resize(count);
    for (BlockArgument& argument : block.arguments) {
      bool has_location = true;
      if (container_.version >= kElidedLocations) {
        const size_t start = cursor.offset();
        const auto [type, flag] = cursor.flagged_varint();
        argument.type = check(start, type, container_.types.size(), "the number of a type");
        has_location = flag;
      } else {
        argument.type = cursor.index(container_.types.size(), "the number of a type");
      }
      if (has_location) argument.location = attribute(cursor);
    }
    define(cursor, count, next);
    if (container_.version >= kUseOrders && cursor.byte() != 0) skip_use_orders(cursor, count);
  }

  void read_operation(Cursor& cursor, Operation& op, size_t& next) {
    op.offset = cursor.offset();
    op.name = cursor.index(container_.op_names.size(), "the number of an operation's name");
    const uint8_t bits = cursor.byte();
    op.location = attribute(cursor);
    if ((bits & kHasAttributes) != 0) op.attributes = attribute(cursor);
    if ((bits & kHasProperties) != 0) {
      op.properties = container_.op_names[op.name].registered
                          ? cursor.index(container_.properties.size(), "the number of properties")
                          : attribute(cursor);
    }
    if ((bits & kHasResults) != 0) {
      op.result_types.resize(cursor.count("the number of results"));
      for (uint32_t& type : op.result_types) {
        type = cursor.index(container_.types.size(), "the number of a type");
      }
    }
    if ((bits & kHasOperands) != 0) {
      op.operands.resize(cursor.count("the number of operands"));
      for (uint32_t& operand : op.operands) operand = read_operand(cursor);
    }
    if ((bits & kHasSuccessors) != 0) {
      origin_.fail(op.offset, "an operation branches to another block, which is not supported");
    }
    if ((bits & kHasUseOrders) != 0) skip_use_orders(cursor, op.result_types.size());
    const bool has_regions = (bits & kHasRegions) != 0;
    const auto [regions, isolated] =
        has_regions ? cursor.flagged_varint() : std::pair<uint64_t, bool>();
    op.first_result = static_cast<uint32_t>(num_values_);
    define(cursor, op.result_types.size(), next);
    if (has_regions) read_regions(cursor, op, regions, isolated);
  }

  void read_regions(Cursor& cursor, Operation& op, uint64_t count, bool isolated) {
    if (++depth_ > kMaxDepth) origin_.fail(op.offset, "operations are nested too deeply");
    if (isolated) scopes_.emplace_back();
    if (isolated && container_.version >= kIsolatedSections) {
      const size_t start = cursor.offset();
      const Section section = read_section(cursor);
      if (section.id != kIrSection) origin_.fail(start, "expected the section of a region");
      Cursor inner(origin_, section.bytes);
      for (uint64_t i = 0; i < count; ++i) read_region(inner, op);
      inner.expect_end("the regions of an operation");
    } else {
      for (uint64_t i = 0; i < count; ++i) read_region(cursor, op);
    }
    if (isolated) scopes_.pop_back();
    --depth_;
  }

  void read_region(Cursor& cursor, Operation& op) {
    const size_t start = cursor.offset();
    Block& block = op.regions.emplace_back();
    block.offset = start;
    const uint64_t blocks = cursor.varint();
    if (blocks == 0) return;
    if (blocks > 1) {
      origin_.fail(start, fmt::format("a region has {} blocks, expected one", blocks),
                   "express the program with stablehlo.while, if and case");
    }
    const size_t values = cursor.count("the number of values of a region");
    visible_ += values;
    if (visible_ > origin_.bytes.size()) cursor.fail("regions announce more values than bytes");
    Scope& scope = scopes_.back();
    const size_t begin = scope.size();
    scope.resize(begin + values, kUndefined);
    read_block(cursor, block, begin);
    scopes_.back().resize(begin);
    visible_ -= values;
  }

  // Gives the next `count` values of the region their numbers in the program.
  void define(Cursor& cursor, size_t count, size_t& next) {
    Scope& scope = scopes_.back();
    if (count > scope.size() - next) {
      // The outermost block announces no values; a module has none.
      cursor.fail("a region defines more values than it announces");
    }
    for (size_t i = 0; i < count; ++i) scope[next++] = static_cast<uint32_t>(num_values_++);
  }

  uint32_t read_operand(Cursor& cursor) {
    const size_t start = cursor.offset();
    const uint64_t number = cursor.varint();
    const Scope& scope = scopes_.back();
    if (number >= scope.size() || scope[number] == kUndefined) {
      origin_.fail(start,
                   fmt::format("an operand is value {}, which is not defined before", number));
    }
    return scope[number];
  }

  // Orders of uses matter to nobody here.
  void skip_use_orders(Cursor& cursor, size_t values) {
    const size_t count = values > 1 ? cursor.count("the number of orders of uses") : 1;
    for (size_t i = 0; i < count; ++i) {
      if (values > 1) cursor.varint();
      const uint64_t indices = cursor.flagged_varint().first;
      for (uint64_t k = 0; k < indices; ++k) cursor.varint();
    }
  }

  uint32_t attribute(Cursor& cursor) {
    return cursor.index(container_.attributes.size(), "the number of an attribute");
  }

  uint32_t check(size_t start, uint64_t value, size_t limit, std::string_view what) const {
    if (value >= limit) {
      origin_.fail(start, fmt::format("{} is {}, expected less than {}", what, value, limit));
    }
    return static_cast<uint32_t>(value);
  }

  const Origin& origin_;
  const Container& container_;
  std::vector<Scope> scopes_;
  size_t num_values_ = 0;
  size_t visible_ = 0;  // entries of all scopes
  int depth_ = 0;
};

}  // namespace

Program read_operations(const Origin& origin, const Container& container) {
  return OperationReader(origin, container).read();
}

}  // namespace spmd::mlir_bytecode
