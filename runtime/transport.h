// Transport: how the tensors of a collective travel between the ranks of one group, in the memory
// that kernels work on.
#pragma once

#include <memory>
#include <string>

#include "collectives/comm/communicator.h"

namespace spmd {

// What a collective needs of its transport. All ranks ask for the same.
struct TransportNeeds {
  bool reduces = false;
  comm::Element element = comm::Element::kU8;
  comm::Reduction reduction = comm::Reduction::kSum;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Copies `rows` rows of `bytes`, as far apart as the pitches say.
  virtual void copy_rows(std::byte* to, int64_t to_pitch, const std::byte* from, int64_t from_pitch,
                         int64_t bytes, int64_t rows) = 0;
  virtual void zero(std::byte* to, int64_t bytes) = 0;

  // As those of the Communicator, among the members of the group.
  virtual void all_gather(const std::byte* in, std::byte* out, int64_t bytes) = 0;
  virtual void all_reduce(const std::byte* in, std::byte* out, int64_t count) = 0;
  virtual void reduce_scatter(const std::byte* in, std::byte* out, int64_t count) = 0;
  virtual void all_to_all(const std::byte* in, std::byte* out, int64_t bytes) = 0;
  virtual void permute(const std::byte* in, std::byte* out, int64_t bytes, int source,
                       int target) = 0;

  // Whether calls between start_group() and end_group() take about the time of one, so that tensors
  // need not be packed into one message. Nothing else is called between them.
  virtual bool joins_calls() const { return false; }
  virtual void start_group() {}
  virtual void end_group() {}
};

// Through host memory, by the communicator.
std::unique_ptr<Transport> make_host_transport(comm::Communicator& communicator, comm::Group& group,
                                               const TransportNeeds& needs, const std::string& op);

}  // namespace spmd
