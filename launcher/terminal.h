// Whether people watch, and how wide their window is.
#pragma once

namespace spmd {

struct Terminal {
  bool interactive = false;
  int width = 80;
};

// Of standard output. mpirun gives its processes a terminal of its own that has no width; there,
// what counts is mpirun's standard output.
Terminal stdout_terminal();

}  // namespace spmd
