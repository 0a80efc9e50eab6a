#include "frontends/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 31;
constexpr size_t kFirstOutput = size_t{1} << 20;
constexpr size_t kMaxInputStep = size_t{1} << 30;  // zlib counts in 32 bits

class Inflater {
 public:
  Inflater(std::string_view bytes, const std::string& source) : rest_(bytes), source_(source) {
    constexpr int kGzipOnly = 16;
    SPMD_CHECK(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK, "zlib does not initialise");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string run() {
    std::string output(std::clamp(rest_.size() * 8, size_t{64}, kFirstOutput), '\0');
    size_t used = 0;
    while (true) {
      if (used == output.size()) grow(output);
      const int status = step(output, used);
      if (status == Z_STREAM_END) {
        if (!is_gzip(rest_)) break;  // what follows the last member is padding
        inflateReset(&stream_);
      } else if (status != Z_OK && !(status == Z_BUF_ERROR && used == output.size())) {
        fail(rest_.empty() ? "the gzip data ends early" : "the gzip data is damaged");
      } else if (rest_.empty() && used < output.size()) {
        fail("the gzip data ends early");
      }
    }
    output.resize(used);
    return output;
  }

 private:
  int step(std::string& output, size_t& used) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(std::min(rest_.size(), kMaxInputStep));
    stream_.next_out = reinterpret_cast<Bytef*>(output.data() + used);
    const size_t room = std::min(output.size() - used, kMaxInputStep);
    stream_.avail_out = static_cast<uInt>(room);
    const size_t offered = stream_.avail_in;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    rest_.remove_prefix(offered - stream_.avail_in);
    used += room - stream_.avail_out;
    return status;
  }

  void grow(std::string& output) {
    if (output.size() >= kMaxOutput) {
      throw UserError(
          source_,
          fmt::format("decompresses to more than {}", human_bytes(static_cast<double>(kMaxOutput))),
          "export the program with its weights as arguments, not as constants");
    }
    output.resize(std::min(output.size() * 2, kMaxOutput));
  }

  [[noreturn]] void fail(const char* fact) {
    throw UserError(source_, fact, "copy or export the file again");
  }

  z_stream stream_{};
  std::string_view rest_;
  const std::string& source_;
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b\x08"); }

std::string gunzip(std::string_view bytes, const std::string& source) {
  return Inflater(bytes, source).run();
}

}  // namespace spmd
