// Whether what is asked for can be written, found out before the work whose result would else be lost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trnplan::api {

/// Makes `folder` as io::write_files would and begins the first of the files in it, then takes all of that back. Throws
/// InputError as io::write_files does, but for what only writing to the end shows, such as a full disk.
void rehearse_files(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force);

/// The same of one file in a folder that exists: throws as io::write_file does.
void rehearse_file(const std::filesystem::path& path, bool force);

}  // namespace trnplan::api
