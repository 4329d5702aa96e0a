// Hands a folder of `plan --out` to a scheduler: compile first, then train.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "launch/local/process.h"
#include "launch/scheduler/submission.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

enum class Scheduler { slurm, eks, local };
std::string_view to_string(Scheduler s);

struct SubmitRequest {
  std::filesystem::path folder;
  Scheduler scheduler = Scheduler::slurm;
  std::string manifest = "mpijob.yaml";  ///< of the folder, for eks
  bool dry_run = false;                  ///< nothing of the folder is run, not even setup_env.sh
};

/// Everything that keeps the folder from running, each with its fix: what folder_faults() finds, values that
/// are missing, a cluster with too few nodes or of another instance type, placeholders. Runs sinfo or
/// kubectl; bash for values of setup_env.sh that reading does not give, unless `dry_run`. `notes` receives
/// what could not be checked.
std::vector<Diagnostic> preflight(const SubmitRequest& request, const io::Catalog& catalog,
                                  const Runner& runner, std::vector<std::string>& notes);

/// The commands that submit() runs, in their order; COMPILE_JOB_ID, trnplan-UNIQUE and TRNPLAN_PARTITION
/// stand for an id, a name and a partition that are not known yet.
std::vector<std::vector<std::string>> commands(const SubmitRequest& request);

struct SubmitResult {
  Submission submission;
  bool already = false;  ///< there was nothing left to do
};

/// Submits what launch.json of the folder does not hold yet. Before each submission its name, and after it
/// its id, is written there: a second call, at the same time or after the first one died anywhere, submits
/// nothing twice. When training is refused the compile job is cancelled and launch.json removed. `local` runs
/// the node script to its end and keeps no record. Throws SchedulerRefused; InputError when launch.json
/// cannot be written or locked.
SubmitResult submit(const SubmitRequest& request, const Runner& runner);

}  // namespace trnplan::launch
