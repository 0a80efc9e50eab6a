#include "collectives/comm/communicator.h"

#include <numeric>

namespace spmd::comm {

Group& Communicator::world() {
  std::vector<int> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return group(ranks);
}

}  // namespace spmd::comm
