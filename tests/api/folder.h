// A folder of a test's own, and the catalogue of the sources.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch.h"

namespace trnplan {

/// Removed with all it holds at the end. TRNPLAN_CATALOG names the catalogue of the sources unless it is set.
class TestFolder {
 public:
  TestFolder() {
    namespace fs = std::filesystem;
    ::setenv("TRNPLAN_CATALOG", fs::absolute(TRNPLAN_SOURCE_DIR "/catalog").c_str(), 0);
    std::string pattern = (fs::temp_directory_path() / "trnplan-api-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& file) const { return (path_ / file).string(); }
  /// Writes a file, and says where.
  std::string write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ / file) << text;
    return *this / file;
  }

 private:
  std::filesystem::path path_;
};

inline std::string source_file(const std::string& file) {
  return std::filesystem::absolute(std::filesystem::path(TRNPLAN_SOURCE_DIR) / file).string();
}

}  // namespace trnplan
