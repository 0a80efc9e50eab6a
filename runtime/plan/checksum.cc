#include "runtime/plan/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/error.h"

namespace spmd::plan {
namespace {

constexpr std::string_view kTag = "\x81\x01";  // field 16, fixed64
constexpr size_t kSize = kTag.size() + sizeof(uint64_t);
constexpr const char* kDamageRemedy = "copy the file again, or compile the program again";

// As a protobuf field holds it: the least significant byte first.
std::string checksum_field(std::string_view bytes) {
  const uint64_t hash = checksum(bytes);
  std::string field(kTag);
  for (int shift = 0; shift < 64; shift += 8) field += static_cast<char>(hash >> shift & 0xff);
  return field;
}

}  // namespace

uint64_t checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void append_checksum(std::string& bytes) { bytes += checksum_field(bytes); }

std::string_view without_checksum(std::string_view bytes, const std::string& source) {
  const size_t size = bytes.size() < kSize ? 0 : bytes.size() - kSize;
  const std::string_view field = bytes.substr(size);
  if (!field.starts_with(kTag))
    throw UserError(source, "is damaged: its end with the checksum is not there", kDamageRemedy);
  bytes.remove_suffix(field.size());
  if (field != checksum_field(bytes))
    throw UserError(source, "is damaged: its checksum differs", kDamageRemedy);
  return bytes;
}

}  // namespace spmd::plan
