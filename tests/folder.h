// Folder of a test's own, files of the sources, and the catalogue of the sources.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace trnplan {

/// Removed with all its contents at the end. TRNPLAN_CATALOG names the catalogue of the sources unless it is
/// set.
class TestFolder {
 public:
  TestFolder() {
    namespace fs = std::filesystem;
    ::setenv("TRNPLAN_CATALOG", fs::absolute(TRNPLAN_SOURCE_DIR "/catalog").c_str(), 0);
    std::string pattern = (fs::temp_directory_path() / "trnplan-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder " + pattern);
    path = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    ::chmod(path.c_str(), 0700);  // a test may have removed its own rights
    std::filesystem::remove_all(path, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& file) const { return (path / file).string(); }
  /// Writes a file and its folders; returns its path.
  std::string write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
    return *this / file;
  }

  std::filesystem::path path;
};

inline std::string source_file(const std::string& file) {
  return std::filesystem::absolute(std::filesystem::path(TRNPLAN_SOURCE_DIR) / file).string();
}

}  // namespace trnplan
