// Where the running program lies.
#pragma once

#include <filesystem>

namespace trnplan::io {

/// Its absolute path, symbolic links resolved. What the kernel says of it serves where /proc is not mounted,
/// as in containers and chroots; empty when neither names a file.
std::filesystem::path program_path();

}  // namespace trnplan::io
