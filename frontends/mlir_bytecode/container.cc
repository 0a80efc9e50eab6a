#include "frontends/mlir_bytecode/container.h"

#include <algorithm>
#include <array>
#include <optional>

#include "frontends/mlir_bytecode/cursor.h"
#include "support/error.h"

namespace spmd::mlir_bytecode {
namespace {

// Numbers of sections.
enum : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kEntries = 2,
  kEntryOffsets = 3,
  kIr = kIrSection,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersion = 7,
  kPropertyTable = 8,
  kNumSections = 9,
};

using Sections = std::array<std::optional<std::string_view>, kNumSections>;

class ContainerReader {
 public:
  explicit ContainerReader(const Origin& origin) : origin_(origin) {}

  Container header() {
    Cursor cursor(origin_, origin_.bytes);
    read_header(cursor);
    return std::move(container_);
  }

  Container read() {
    Cursor cursor(origin_, origin_.bytes);
    read_header(cursor);
    while (!cursor.at_end()) add_section(cursor);
    for (const uint8_t id : {kStrings, kDialects, kEntries, kEntryOffsets, kIr}) {
      if (!sections_[id]) {
        cursor.fail(fmt::format("the file ends without its section {}; it is cut off", id));
      }
    }
    read_strings();
    read_dialects();
    read_resources();
    read_entries();
    read_properties();
    container_.ir = *sections_[kIr];
    return std::move(container_);
  }

 private:
  void read_header(Cursor& cursor) {
    if (cursor.bytes(kMagic.size()) != kMagic) origin_.fail(0, "is no MLIR bytecode");
    const size_t start = cursor.offset();
    container_.version = cursor.varint();
    if (container_.version > kNewestVersion) {
      origin_.fail(start,
                   fmt::format("the bytecode has version {}, expected at most {}",
                               container_.version, kNewestVersion),
                   "write it for an older target: stablehlo-translate --serialize --target=1.0.0");
    }
    container_.producer = cursor.null_terminated();
  }

  void add_section(Cursor& cursor) {
    const size_t start = cursor.offset();
    const Section section = read_section(cursor);
    if (section.id >= kNumSections) {
      origin_.fail(start, fmt::format("found a section {}, expected 0 to 8", section.id));
    }
    if (sections_[section.id]) {
      origin_.fail(start, fmt::format("there are two sections {}", section.id));
    }
    sections_[section.id] = section.bytes;
  }

  // The lengths, last string first, then the strings.
  void read_strings() {
    Cursor cursor(origin_, *sections_[kStrings]);
    std::vector<size_t> lengths(cursor.count("the number of strings", 2));
    for (size_t i = lengths.size(); i-- > 0;) {
      lengths[i] = cursor.count("the length of a string");
      if (lengths[i] == 0) cursor.fail("a string has no zero byte");
    }
    container_.strings.reserve(lengths.size());
    for (const size_t length : lengths) {
      container_.strings.push_back(cursor.bytes(length).substr(0, length - 1));
    }
    cursor.expect_end("the strings");
  }

  std::string_view string(Cursor& cursor) {
    return container_.strings[cursor.index(container_.strings.size(), "the number of a string")];
  }

  void read_dialects() {
    Cursor cursor(origin_, *sections_[kDialects]);
    const size_t count = cursor.count("the number of dialects");
    for (size_t i = 0; i < count; ++i) read_dialect(cursor);
    if (container_.version >= kElidedLocations) cursor.varint();  // the number of op names
    while (!cursor.at_end()) {
      for_group(cursor, [&](std::string_view dialect) {
        if (container_.version < kProperties) {
          container_.op_names.push_back({dialect, string(cursor), true});
          return;
        }
        const auto [name, registered] = flagged_string(cursor);
        container_.op_names.push_back({dialect, name, registered});
      });
    }
  }

  void read_dialect(Cursor& cursor) {
    if (container_.version < kDialectVersions) {
      container_.dialects.push_back(string(cursor));
      return;
    }
    const auto [name, has_version] = flagged_string(cursor);
    container_.dialects.push_back(name);
    if (!has_version) return;
    const size_t start = cursor.offset();
    if (read_section(cursor).id != kDialectVersion) {
      origin_.fail(start, fmt::format("expected the version of the dialect {}", name));
    }
  }

  std::pair<std::string_view, bool> flagged_string(Cursor& cursor) {
    const size_t start = cursor.offset();
    const auto [number, flag] = cursor.flagged_varint();
    if (number >= container_.strings.size()) {
      origin_.fail(start, fmt::format("the number of a string is {}, expected less than {}", number,
                                      container_.strings.size()));
    }
    return {container_.strings[number], flag};
  }

  // A dialect and a number of things of it.
  template <typename Each>
  void for_group(Cursor& cursor, Each&& each) {
    const std::string_view dialect =
        container_.dialects[cursor.index(container_.dialects.size(), "the number of a dialect")];
    const size_t count = cursor.count("the size of a dialect's group");
    for (size_t i = 0; i < count; ++i) each(dialect);
  }

  void read_entries() {
    Cursor offsets(origin_, *sections_[kEntryOffsets]);
    Cursor data(origin_, *sections_[kEntries]);
    const size_t attributes = offsets.count("the number of attributes");
    const size_t types = offsets.count("the number of types");
    read_entry_list(offsets, data, attributes, container_.attributes);
    read_entry_list(offsets, data, types, container_.types);
    offsets.expect_end("the sizes of attributes and types");
  }

  void read_entry_list(Cursor& offsets, Cursor& data, size_t count, std::vector<Entry>& list) {
    list.reserve(count);
    while (list.size() < count) {
      const size_t start = offsets.offset();
      const size_t before = list.size();
      for_group(offsets, [&](std::string_view dialect) {
        const auto [size, custom] = offsets.flagged_varint();
        list.push_back({dialect, custom, data.bytes(size)});
      });
      if (list.size() == before || list.size() > count) {
        origin_.fail(start, "the groups of attributes or types do not add up to their number");
      }
    }
  }

  void read_properties() {
    if (!sections_[kPropertyTable] || sections_[kPropertyTable]->empty()) return;
    Cursor cursor(origin_, *sections_[kPropertyTable]);
    const size_t count = cursor.count("the number of properties");
    container_.properties.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      container_.properties.push_back(cursor.bytes(cursor.varint()));
    }
    cursor.expect_end("the properties");
  }

  void read_resources() {
    if (!sections_[kResources] || !sections_[kResourceOffsets]) return;
    Cursor offsets(origin_, *sections_[kResourceOffsets]);
    Cursor data(origin_, *sections_[kResources]);
    if (offsets.at_end()) return;
    const size_t external = offsets.count("the number of external resources");
    for (size_t i = 0; i < external; ++i) {
      string(offsets);
      const size_t count = offsets.count("the number of resources", 3);
      for (size_t k = 0; k < count; ++k) read_resource(offsets, data);
    }
    while (!offsets.at_end()) {
      for_group(offsets, [&](std::string_view) {
        container_.resources.push_back(read_resource(offsets, data));
      });
    }
  }

  Resource read_resource(Cursor& offsets, Cursor& data) {
    Resource resource;
    resource.key = string(offsets);
    const std::string_view bytes = data.bytes(offsets.varint());
    constexpr uint8_t kBlob = 0;
    if (offsets.byte() != kBlob || bytes.empty()) return resource;
    Cursor blob(origin_, bytes);
    const uint64_t alignment = blob.varint();
    const uint64_t size = blob.varint();
    blob.align(alignment);
    resource.bytes = blob.bytes(size);
    return resource;
  }

  const Origin& origin_;
  Sections sections_;
  Container container_;
};

}  // namespace

Section read_section(Cursor& cursor) {
  Section section;
  const uint8_t head = cursor.byte();
  const uint64_t length = cursor.varint();
  section.id = head & 0x7F;
  if ((head & 0x80) != 0) cursor.align(cursor.varint());
  section.bytes = cursor.bytes(length);
  return section;
}

Container read_header(const Origin& origin) { return ContainerReader(origin).header(); }

Container read_container(const Origin& origin) { return ContainerReader(origin).read(); }

}  // namespace spmd::mlir_bytecode
