#include "api/rehearsal.h"

#include <system_error>

#include "io/output/atomic_write.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

/// Thrown to leave write_files(), which then undoes its work.
struct Rehearsed {};

void begin(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force) {
  std::vector<io::OutputFile> files;
  for (const std::string& name : names) {
    const std::filesystem::path path = folder / name;
    std::error_code none;
    if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none)) {
      // A link to a device, such as /dev/stdout, would itself be replaced.
      throw InputError(Diagnostic{{path.string()}, "", "is not a regular file", "choose another path"});
    }
    files.push_back({name, ""});
  }
  files.front().pieces = [](const auto&) { throw Rehearsed{}; };
  try {
    io::write_files(folder, files, force);
  } catch (const Rehearsed&) {
  }
}

}  // namespace

void rehearse_files(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force) {
  io::check_files(folder, names, force);
  begin(folder, names, force);
}

void rehearse_file(const std::filesystem::path& path, bool force) {
  io::check_file(path, force);
  begin(path.has_parent_path() ? path.parent_path() : ".", {path.filename().string()}, force);
}

}  // namespace trnplan::api
