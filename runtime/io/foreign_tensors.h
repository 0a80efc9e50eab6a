// Files of tensors that other programs write, known by their first bytes: not read, but named.
#pragma once

#include <string>

#include "runtime/io/mapped_file.h"

namespace spmd {

// Throws UserError, with how to convert the file, when it is one of NumPy's archives (.npz), of
// PyTorch's (.pt, .pth, .bin), of HDF5, a pickle, or compressed.
void refuse_foreign_tensors(const MappedFile& file);

}  // namespace spmd
