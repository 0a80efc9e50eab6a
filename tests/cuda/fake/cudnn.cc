// A stand-in for a cuDNN that is too old for attention.
#include <cstddef>

extern "C" size_t cudnnGetVersion() { return 91001; }
