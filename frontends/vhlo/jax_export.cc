#include "frontends/vhlo/jax_export.h"

#include "frontends/vhlo/import.h"
#include "support/error.h"

namespace spmd {
namespace {

// Numbers of a flatbuffer, which are little-endian and say how far on something lies.
class Flatbuffer {
 public:
  Flatbuffer(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  uint64_t number(size_t at, size_t size) const {
    check(at, size);
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[at + i]);
    return value;
  }

  // What an offset at `at` leads to.
  size_t follow(size_t at) const {
    const uint64_t target = at + number(at, 4);
    check(target, 4);
    return target;
  }

  // Where field `slot` of a table stands; 0 when the table does not have it. A table begins with
  // how far back its vtable lies: its size, the table's size, an offset for each field.
  size_t field(size_t table, size_t slot) const {
    const auto back = static_cast<int32_t>(number(table, 4));
    const int64_t vtable = static_cast<int64_t>(table) - back;
    if (vtable < 0) fail(table);
    const auto begin = static_cast<size_t>(vtable);
    const size_t entry = 4 + 2 * slot;
    if (entry + 2 > number(begin, 2)) return 0;
    const uint64_t offset = number(begin + entry, 2);
    return offset == 0 ? 0 : table + offset;
  }

  // The bytes of a vector: their number, then they themselves.
  std::string_view vector(size_t at) const {
    const uint64_t size = number(at, 4);
    check(at + 4, size);
    return bytes_.substr(at + 4, size);
  }

 private:
  void check(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      fail(std::min<uint64_t>(at, bytes_.size()));
  }
  [[noreturn]] void fail(uint64_t at) const {
    throw UserError(
        fmt::format("{}: byte {}", source_, at),
        "the tables of the jax.export file lead outside of it; it is cut off or damaged");
  }

  std::string_view bytes_;
  const std::string& source_;
};

// Of jax's serialization.fbs: Exported.mlir_module_serialized.
constexpr size_t kModuleSlot = 13;

}  // namespace

Module import_jax_export(std::string_view bytes, const std::string& source) {
  const Flatbuffer buffer(bytes, source);
  const size_t root = buffer.follow(0);
  const size_t field = buffer.field(root, kModuleSlot);
  if (field == 0) throw UserError(source, "the jax.export file holds no program");
  const size_t vector = buffer.follow(field);
  return import_vhlo(buffer.vector(vector), source, vector + 4);
}

}  // namespace spmd
