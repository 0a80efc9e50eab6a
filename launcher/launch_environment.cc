#include "launcher/launch_environment.h"

#include <cstdlib>

namespace spmd {
namespace {

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;  // null: the launcher does not say
  // Another variable that must be there, or null.
  const char* also;
};

// In order of precedence. SLURM sets SLURM_PROCID in batch scripts too, where nothing is started
// yet; a step of srun has SLURM_STEP_NUM_TASKS.
constexpr Variables kKnown[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},  // Open MPI
    {"mpirun", "PMI_RANK", "PMI_SIZE", nullptr},                          // MPICH, Intel, Cray
    {"mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", nullptr},    // MVAPICH2
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_TASKS"},
    {"mpirun", "PMIX_RANK", nullptr, nullptr},  // PRRTE and others
    {"torchrun", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
};

int number(const char* text) {
  if (text == nullptr) return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return end == text || *end != '\0' || value < 0 || value > 1 << 24 ? -1 : static_cast<int>(value);
}

}  // namespace

LaunchEnvironment read_launch_environment(const std::function<const char*(const char*)>& get) {
  for (const Variables& known : kKnown) {
    const int rank = number(get(known.rank));
    if (rank < 0 || (known.also != nullptr && get(known.also) == nullptr)) continue;
    return {known.launcher, rank, known.size == nullptr ? -1 : number(get(known.size))};
  }
  return {};
}

LaunchEnvironment read_launch_environment() {
  return read_launch_environment([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace spmd
