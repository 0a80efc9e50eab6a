// Output files and standard output. That files can be written is known before anything runs.
#pragma once

#include <string>
#include <string_view>

namespace spmd {

// Throws UserError unless `path` can be written: its folder must exist and take files.
void check_writable(const std::string& path);

// Makes the folder, parents included, and throws UserError unless files can be written there.
void make_output_folder(const std::string& path);

// A file that grows over the limit of the process is then an error that is reported, not a signal
// that ends it.
void ignore_file_size_signal();

// Flushes standard output. What to say when not all of it could be written, now or before; empty
// when it was.
std::string lost_output();

// The whole file or none of it (runtime/io/mapped_file.h). Throws UserError.
void write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace spmd
