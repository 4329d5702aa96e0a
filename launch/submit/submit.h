// Hands a folder of `plan --out` to a scheduler: compile first, then train.
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
      folder;  ///< the same object in preflight() and submit(): what was checked is what is submitted
  const Scheduler& scheduler;
  std::string flavour = "eks-mpijob";  ///< of Kubernetes: a name of io/output/emit_kubernetes.h
  bool dry_run = false;                ///< nothing is submitted
};

/// Everything that keeps the folder from running, each with its fix: what check_folder() finds, values that
/// are missing, and what the scheduler's own checks say. Nothing of the folder is run. `notes` receives what could not be checked,
/// and what a person edited.
std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes);

/// What launch.json says; `name` stands in messages. Throws InputError when it is damaged.
Submission submission_from(const std::string& text, const std::string& name);

/// nullopt when nothing was submitted from the folder. Throws InputError when launch.json is damaged.
std::optional<Submission> submitted(const std::filesystem::path& folder);

/// Scheduler::commands() of the request.
std::vector<std::vector<std::string>> commands(const SubmitRequest& request);

/// Submits what launch.json of the folder does not hold yet, one launch of a folder at a time. Throws
/// SchedulerRefused; InputError when launch.json cannot be written or locked, or a file is not as it was checked.
SubmitResult submit(const SubmitRequest& request, const Runner& runner);

}  // namespace trnplan::launch
