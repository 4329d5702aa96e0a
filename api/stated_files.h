// Texts instead of files, for callers that hold a job or a config in memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "text/document.h"

namespace trnplan::api {

/// The file system, in which texts replace the files of some names. A name is compared with the path as
/// written. Other files that the text names are relative to the folder of its name.
class StatedFiles final : public Files {
 public:
  void state(std::string name, std::string text) { texts_[std::move(name)] = std::move(text); }
  /// True if `path` is one of the texts.
  [[nodiscard]] bool states(const std::filesystem::path& path) const {
    return texts_.contains(path.string());
  }

  [[nodiscard]] bool has(const std::filesystem::path& path) const override {
    return states(path) || disk().has(path);
  }
  [[nodiscard]] std::string text(const std::filesystem::path& path) const override {
    const auto found = texts_.find(path.string());
    return found == texts_.end() ? disk().text(path) : found->second;
  }

 private:
  std::map<std::string, std::string> texts_;
};

}  // namespace trnplan::api
