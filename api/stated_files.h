// Texts in place of files, for callers that hold a job or a config in memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "text/document.h"

namespace trnplan::api {

/// The file system, with texts in place of the files of some names. A name stands for the path as it is written:
/// what the text names besides is relative to the name's folder.
class StatedFiles final : public Files {
 public:
  void state(std::string name, std::string text) { texts_[std::move(name)] = std::move(text); }
  /// `path` is one of the texts.
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
