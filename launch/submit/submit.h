// Hands a folder of `plan --out` to a scheduler: first to compile, then to train.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "launch/folder/held_folder.h"
#include "launch/process/process.h"
#include "launch/scheduler/scheduler.h"
#include "launch/scheduler/submission.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

struct SubmitRequest {
  const HeldFolder&
      folder;  ///< the same object in preflight() and submit(), so that the checked bytes are submitted
  const Scheduler& scheduler;
  std::string flavour = "eks-mpijob";  ///< of Kubernetes: a name of io/output/emit_kubernetes.h
  bool dry_run = false;                ///< nothing is submitted
};

/// Everything that keeps the folder from running, each with its fix: findings of check_folder(), missing
/// values, and findings of the scheduler's own checks. Runs nothing of the folder. `notes` receives what
/// could not be checked, and edits by a person.
std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes);

/// Parses launch.json; messages use `name`. Throws InputError if it is damaged.
Submission submission_from(const std::string& text, const std::string& name);

/// Jobs submitted from the folder; nullopt if there are none. Throws InputError if launch.json is damaged.
std::optional<Submission> submitted(const std::filesystem::path& folder);

/// Scheduler::commands() of the request.
std::vector<std::vector<std::string>> commands(const SubmitRequest& request);

/// Submits the jobs that the folder's launch.json does not contain yet, one launch of a folder at a time.
/// Throws SchedulerRefused; InputError if launch.json cannot be written or locked, or if a file has changed
/// since the check.
SubmitResult submit(const SubmitRequest& request, const Runner& runner);

}  // namespace trnplan::launch
