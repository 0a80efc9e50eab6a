// spmd-run: trains an exported program on a mesh of ranks.
#include "launcher/launch.h"

int main(int argc, char** argv) { return spmd::launch(argc, argv); }
