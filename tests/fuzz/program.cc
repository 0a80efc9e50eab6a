#include "frontends/frontend.h"
#include "frontends/recorded_run.h"
#include "tests/fuzz/targets.h"
#include "tests/support/gzip.h"

namespace spmd::testing {
namespace {

// One of every format, and gzipped.
std::vector<std::string> program_seeds() {
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
          program_seeds,
          {"HloModule", "module", "ML\xefR", "PK\x03\x04", "\x1f\x8b\x08"}};
}

}  // namespace spmd::testing
