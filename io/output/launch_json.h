// What launch did, as JSON (docs/json.md).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trnplan::io {

struct LaunchStory {
  std::string scheduler;
  bool dry_run = false;
  bool already = false;                                   ///< submitted before
  std::vector<std::pair<std::string, std::string>> jobs;  ///< what, id
  std::vector<std::vector<std::string>> commands;         ///< argument vectors, of a dry run
};

/// {"schema_version", "scheduler", "dry_run", "already_submitted", "jobs": {...}, "commands": [[...]]}
std::string launch_json(const LaunchStory& story);

}  // namespace trnplan::io
