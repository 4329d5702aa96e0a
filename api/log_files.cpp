#include "api/log_files.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "api/profile_folder.h"
#include "api/what_ran.h"
#include "io/catalog/catalog.h"
#include "io/input/log_stream.h"
#include "text/diagnostic.h"

namespace trnplan::api {

using calibrate::LogFile;

std::vector<LogFile> read_files(const std::vector<std::string>& paths, const calibrate::PointOptions& points,
                                SeenFiles& seen, Remarks& remarks) {
  std::vector<LogFile> files;
  std::vector<Diagnostic> faults;
  /// False behind the metadata of a profile that the compiler estimated: its other tables are left out.
  const auto read = [&](const std::string& path) {
    try {
      io::LogStream stream(path);
      const std::string name = path == io::kStandardInput ? io::kStandardInputName : path;
      logs::Detected content = logs::detect(stream, name, calibrate::stated_command(points));
      const bool simulated = content.simulated;
      const auto [first, is_new] = seen.emplace(stream.sha256(), name);
      if (is_new)
        files.push_back({name, stream.sha256(), std::move(content), stream.hashed()});
      else
        remarks.add(fmt::format("{} holds the same as {}: it is read once", printable(name, 200),
                                printable(first->second, 200)));
      return !simulated;
    } catch (const InputError& e) {
      faults.insert(faults.end(), e.faults().begin(), e.faults().end());
      return true;
    }
  };
  for (const std::string& path : paths) {
    const std::vector<std::string> tables = tables_of_profile(path);
    if (tables.empty()) read(path);
    for (const std::string& table : tables) {
      if (!read(table)) break;
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return files;
}

std::vector<RunFolder> read_folders(const std::vector<std::string>& paths,
                                    const calibrate::PointOptions& points, const io::Catalog& catalog,
                                    SeenFiles& seen, calibrate::SeenSteps& steps, Remarks& remarks) {
  std::vector<RunFolder> all;
  for (const std::string& path : paths) {
    RunFolder folder;
    folder.log.ran = ran_of_folder(path, catalog, remarks);
    folder.files = read_files(logs_of_folder(path), points, seen, remarks);
    folder.log.samples = calibrate::step_samples(folder.files, folder.log.ran, steps, remarks);
    folder.log.folder = std::filesystem::path(path).lexically_normal().filename().string();
    all.push_back(std::move(folder));
  }
  return all;
}

std::vector<models::CalibrationFile> learnt_starts(const std::string& path, std::uint64_t bytes,
                                                   const models::Profile& profile) {
  std::vector<models::CalibrationFile> starts;
  if (profile.calibration == nullptr) return starts;
  std::map<std::uint64_t, std::vector<std::string>> learnt;  // hashes by size
  for (const models::CalibrationFile& file : profile.calibration->files)
    if (file.bytes > 0 && file.bytes < bytes) learnt[file.bytes].push_back(file.sha256);
  std::vector<std::uint64_t> sizes;
  for (const auto& [size, hashes] : learnt) sizes.push_back(size);
  const std::vector<std::string> hashes = io::hashes_of_starts(path, sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::vector<std::string>& known = learnt[sizes[i]];
    if (std::find(known.begin(), known.end(), hashes[i]) != known.end())
      starts.push_back({std::filesystem::path(path).filename().string(), hashes[i], sizes[i]});
  }
  return starts;
}

}  // namespace trnplan::api
