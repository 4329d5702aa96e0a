// launch: checks a folder of `plan --out` and hands it to a scheduler.
#pragma once

#include <string>
#include <vector>

#include "launch/process/process.h"
#include "launch/scheduler/submission.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::api {

struct LaunchRequest {
  std::string folder;
  std::string scheduler = "slurm";  ///< a name of launch/submit/schedulers.h
  std::string flavour;              ///< of Kubernetes: a name of io/output/emit_kubernetes.h; may be empty
  std::string cluster_file;         ///< selects the flavour if `flavour` is empty; may be empty
  bool dry_run = false;             ///< checks everything, submits and runs nothing
};

struct LaunchResult {
  std::string scheduler;  ///< that has the jobs; for a folder submitted before, the one used then
  bool already = false;   ///< there was nothing left to submit
  std::vector<launch::SubmittedJob> jobs;
  /// Commands of a dry run, as argument vectors, and the faults that keep them from being run.
  std::vector<std::vector<std::string>> commands;
  std::vector<Diagnostic> faults;
};

/// Throws InputError with every fault of the folder (in a dry run only if no command can be determined), and
/// launch::SchedulerRefused. `runner` runs the scheduler's programs.
[[nodiscard]] LaunchResult launch(const LaunchRequest& request, Remarks& remarks,
                                  const launch::Runner& runner = launch::run_program);

}  // namespace trnplan::api
