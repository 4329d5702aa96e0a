// Path of the running program.
#pragma once

#include <filesystem>

namespace trnplan::io {

/// Absolute path of the program, symbolic links resolved. Without /proc, as in containers and chroots, it is
/// the path that the kernel passed to the program; empty if neither names a file.
std::filesystem::path program_path();

}  // namespace trnplan::io
