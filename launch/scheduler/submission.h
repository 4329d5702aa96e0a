// launch.json of a plan's folder: what was submitted from it, and how to find a job whose id got lost.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "launch/local/process.h"

namespace trnplan::launch {

/// A job of the folder, as the scheduler knows it.
struct SubmittedJob {
  std::string what;  ///< "compile", "train"
  std::string id;    ///< of Slurm: digits; of Kubernetes: kind/name
};

/// What launch.json says: {"schema_version", "scheduler", "jobs": {what: id}, "begun": {what: name}}.
struct Submission {
  std::string scheduler;
  std::vector<SubmittedJob> jobs;
  /// A submission that was begun and not seen to end; `id` is the job's name. Only of Slurm.
  std::optional<SubmittedJob> begun;

  const SubmittedJob* find(std::string_view what) const;
};

/// The scheduler said no (exit code 4). `what` is its own message.
class SchedulerRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nobody can tell whether a job was queued; launch.json stays as it is.
class Unsure : public SchedulerRefused {
 public:
  using SchedulerRefused::SchedulerRefused;
};

/// Letters, digits and _ . / - only, not beginning with -, so that an id needs no escape and is no option.
bool is_plain_id(const std::string& id);

/// The text of launch.json, and what it says; `name` stands in messages. Reading throws InputError when it
/// is damaged.
std::string submission_json(const Submission& s);
Submission submission_from(const std::string& text, const std::string& name);

/// nullopt when nothing was submitted from the folder. Throws InputError when launch.json is damaged.
std::optional<Submission> submitted(const std::filesystem::path& folder);
/// Writes launch.json, whole or not at all; throws InputError.
void keep(const std::filesystem::path& folder, const Submission& s);
void forget(const std::filesystem::path& folder);

/// A job name that no other submission has: the clock and the process are in it.
std::string unique_name(const std::string& what);

/// The id of a job that was begun, if it came to be: squeue knows it, or, with `earlier` (another call began
/// it, and it may have ended long ago), its output file what-ID.out in the folder is not older than
/// launch.json. Throws Unsure when squeue gives no answer.
std::optional<std::string> find_begun(const std::filesystem::path& folder, const SubmittedJob& begun,
                                      bool earlier, const Runner& runner);

}  // namespace trnplan::launch
