// Actions of launch, as JSON (docs/json.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::io {

struct LaunchStory {
  std::string scheduler;
  bool dry_run = false;
  bool already = false;                                   ///< submitted before
  std::vector<std::pair<std::string, std::string>> jobs;  ///< name, id
  std::vector<std::vector<std::string>> commands;         ///< argument vectors, of a dry run
  std::vector<Diagnostic> faults;                         ///< of a dry run: faults that would stop them
};

/// A document that ends in a newline.
std::string launch_json(const LaunchStory& story);

}  // namespace trnplan::io
