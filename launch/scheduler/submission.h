// launch.json of a plan's folder: the jobs submitted from it.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::launch {

/// A job of the folder, as the scheduler names it.
struct SubmittedJob {
  std::string what;  ///< "compile", "train"
  std::string id;    ///< the scheduler's id (Scheduler::is_job_id)
};

/// Content of launch.json: {"schema_version", "scheduler", "jobs": {what: id}, "begun": {what: name}}.
struct Submission {
  std::string scheduler;
  std::vector<SubmittedJob> jobs;
  /// Submission that was begun but not seen to end; `id` is the job's name. Only for schedulers that can look
  /// for it.
  std::optional<SubmittedJob> begun;

  const SubmittedJob* find(std::string_view what) const;
};

struct SubmitResult {
  Submission submission;
  bool already = false;  ///< there was nothing left to do
};

/// The scheduler refused (exit code 4). `what` is its own message.
class SchedulerRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown if nobody can determine whether a job was queued; launch.json stays unchanged.
class Unsure : public SchedulerRefused {
 public:
  using SchedulerRefused::SchedulerRefused;
};

/// True for letters, digits and _ . / - only, not beginning with -, so that an id needs no escape and is no
/// option.
bool is_plain_id(const std::string& id);

/// Text of launch.json.
std::string submission_json(const Submission& s);
/// Name of the file in the folder.
inline constexpr const char* kStateFile = "launch.json";
/// Writes launch.json atomically. Throws InputError.
void keep(const std::filesystem::path& folder, const Submission& s);
void forget(const std::filesystem::path& folder);

}  // namespace trnplan::launch
