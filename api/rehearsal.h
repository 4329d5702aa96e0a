// Checks that files can be written, before the work whose result would otherwise be lost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trnplan::api {

/// Creates `folder` as io::write_files would and begins its first file, then undoes all of it. Throws
/// InputError as io::write_files does, except for faults that only a complete write shows, such as a full
/// disk.
void rehearse_files(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force);

/// The same for one file in an existing folder. Throws as io::write_file does.
void rehearse_file(const std::filesystem::path& path, bool force);

}  // namespace trnplan::api
