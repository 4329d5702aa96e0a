// The script that makes the measurement which tells two plans apart, and what it needs, as texts.
#pragma once

#include <string>
#include <vector>

#include "io/output/atomic_write.h"
#include "models/job/job.h"
#include "planner/confidence/experiment.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// What the results are used with: the words of a person, quoted in the script.
struct MeasureUse {
  std::string job;                   ///< path of the job file
  std::string profile;               ///< name or path
  std::vector<std::string> options;  ///< of `trnplan plan`, beside job and profile
};

/// "Measured, plan 2 is the better choice when its step is below 0.998 times that of plan 1."; of tables
/// empty.
std::string rule_text(const planner::Experiment& measurement);

/// measure.sh, for the folder of the first plan, whose settings it takes. It makes the measurement under
/// Slurm (without Slurm on the node it stands on), then runs `trnplan calibrate` on what was measured and
/// `trnplan plan` with the profile that gives. Runs: in folders measure-1 and measure-2 lie the files of a
/// training job of kShortRunSteps steps; each run gets a copy of its own, so that none resumes from another's
/// checkpoint, and a second call leaves out what is done. Throws std::invalid_argument where the target
/// cannot express a plan.
std::vector<io::OutputFile> measure_files(const models::Job& job, const planner::Plan& first,
                                          const planner::Plan& second, const planner::Experiment& measurement,
                                          const planner::Target& target, const MeasureUse& use);

}  // namespace trnplan::launch
