// launch.json of a plan's folder: what was submitted from it.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::launch {

/// A job of the folder, as the scheduler knows it.
struct SubmittedJob {
  std::string what;  ///< "compile", "train"
  std::string id;    ///< as the scheduler names it (Scheduler::is_job_id)
};

/// What launch.json says: {"schema_version", "scheduler", "jobs": {what: id}, "begun": {what: name}}.
struct Submission {
  std::string scheduler;
  std::vector<SubmittedJob> jobs;
  /// A submission that was begun and not seen to end; `id` is the job's name. Only of schedulers that can look for it.
  std::optional<SubmittedJob> begun;

  const SubmittedJob* find(std::string_view what) const;
};

struct SubmitResult {
  Submission submission;
  bool already = false;  ///< there was nothing left to do
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

/// The text of launch.json.
std::string submission_json(const Submission& s);
/// The name of the file in the folder.
inline constexpr const char* kStateFile = "launch.json";
/// Writes launch.json, whole or not at all; throws InputError.
void keep(const std::filesystem::path& folder, const Submission& s);
void forget(const std::filesystem::path& folder);

}  // namespace trnplan::launch
