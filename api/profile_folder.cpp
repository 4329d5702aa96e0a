#include "api/profile_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace trnplan::api {

namespace {

constexpr std::array<std::string_view, 4> kTables = {"Metadata", "CcOp", "Instruction", "Summary"};

/// Position of the table in kTables; their number for other files.
std::size_t table_of(const std::filesystem::path& file) {
  if (file.extension() != ".parquet") return kTables.size();
  std::string name = file.stem().string();
  const std::size_t number = name.find_last_not_of("0123456789");
  if (number != std::string::npos && number + 1 < name.size() && name[number] == '_') name.resize(number);
  return static_cast<std::size_t>(std::find(kTables.begin(), kTables.end(), name) - kTables.begin());
}

}  // namespace

std::vector<std::string> tables_of_profile(const std::string& path) {
  std::vector<std::pair<std::size_t, std::string>> tables;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::size_t table = table_of(entry.path());
    if (table < kTables.size()) tables.emplace_back(table, entry.path().string());
  }
  std::sort(tables.begin(), tables.end());
  std::vector<std::string> files;
  for (auto& [table, file] : tables) files.push_back(std::move(file));
  return files;
}

}  // namespace trnplan::api
