// launch: a folder of `plan --out` checked, and handed to a scheduler.
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
  std::string cluster_file;         ///< that tells the flavour, where `flavour` is empty; may be empty
  bool dry_run = false;             ///< everything is checked, nothing submitted or run
};

struct LaunchResult {
  std::string scheduler;  ///< that has the jobs; of a folder that was submitted before the one of that time
  bool already = false;   ///< there was nothing left to submit
  std::vector<launch::SubmittedJob> jobs;
  /// Of a dry run: what would be run, as argument vectors, and what keeps it from being run.
  std::vector<std::vector<std::string>> commands;
  std::vector<Diagnostic> faults;
};

/// Throws InputError with every fault of the folder, but of a dry run only where no command can be told; and
/// launch::SchedulerRefused. `runner` asks and runs the scheduler's programs.
[[nodiscard]] LaunchResult launch(const LaunchRequest& request, Remarks& remarks,
                                  const launch::Runner& runner = launch::run_program);

}  // namespace trnplan::api
