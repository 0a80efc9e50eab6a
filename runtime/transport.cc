#include "runtime/transport.h"

#include <cstring>

namespace spmd {
namespace {

class HostTransport : public Transport {
 public:
  HostTransport(comm::Communicator& communicator, comm::Group& group, const TransportNeeds& needs,
                std::string op)
      : communicator_(communicator), group_(group), needs_(needs), op_(std::move(op)) {}

  void copy_rows(std::byte* to, int64_t to_pitch, const std::byte* from, int64_t from_pitch,
                 int64_t bytes, int64_t rows) override {
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * to_pitch, from + row * from_pitch, static_cast<size_t>(bytes));
  }
  void zero(std::byte* to, int64_t bytes) override {
    std::memset(to, 0, static_cast<size_t>(bytes));
  }

  void all_gather(const std::byte* in, std::byte* out, int64_t bytes) override {
    communicator_.all_gather(group_, in, out, bytes, op_);
  }
  void all_reduce(const std::byte* in, std::byte* out, int64_t count) override {
    communicator_.all_reduce(group_, in, out, count, needs_.element, needs_.reduction, op_);
  }
  void reduce_scatter(const std::byte* in, std::byte* out, int64_t count) override {
    communicator_.reduce_scatter(group_, in, out, count, needs_.element, needs_.reduction, op_);
  }
  void all_to_all(const std::byte* in, std::byte* out, int64_t bytes) override {
    communicator_.all_to_all(group_, in, out, bytes, op_);
  }
  void permute(const std::byte* in, std::byte* out, int64_t bytes, int source,
               int target) override {
    communicator_.permute(group_, in, out, bytes, source, target, op_);
  }

 private:
  comm::Communicator& communicator_;
  comm::Group& group_;
  TransportNeeds needs_;
  std::string op_;
};

}  // namespace

std::unique_ptr<Transport> make_host_transport(comm::Communicator& communicator, comm::Group& group,
                                               const TransportNeeds& needs, const std::string& op) {
  return std::make_unique<HostTransport>(communicator, group, needs, op);
}

}  // namespace spmd
