#include <zlib.h>

#include "frontends/frontend.h"
#include "frontends/recorded_run.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

// One of every format, and gzipped.
std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (const FuzzTarget& target :
       {hlo_text_target(), module_target(), onnx_target(), stablehlo_target()}) {
    result.push_back(target.seeds().front());
  }
  // Without the byte that chooses the container.
  const std::vector<std::string> protos = hlo_proto_target().seeds();
  for (size_t i = 0; i < 3; ++i) result.push_back(protos[i].substr(1));
  result.push_back(gzipped(result.front()));
  return result;
}

}  // namespace

FuzzTarget program_target() {
  return {"program",
          [](std::string_view bytes) {
            import_bytes(bytes, "fuzz");
            read_recorded_run(bytes, "fuzz");
          },
          seeds,
          {"HloModule", "module", "ML\xefR", "PK\x03\x04", "\x1f\x8b\x08"}};
}

}  // namespace spmd::testing
