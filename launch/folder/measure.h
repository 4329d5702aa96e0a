// Scripts for the measurement that shows which of two plans is faster, with the files that it needs, and for that of
// the plan's machine, as texts.
#pragma once

#include <string>
#include <vector>

#include "io/output/atomic_write.h"
#include "models/job/job.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/machine_shapes.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// Use of the results: a person's words, quoted in the script.
struct MeasureUse {
  std::string job;                   ///< path of the job file
  std::string profile;               ///< name or path
  std::vector<std::string> options;  ///< of `trnplan plan`, without job and profile
  bool job_alone = false;            ///< the job file says all: no option changes it
};

/// Lines that set plan, job, profile, trnplan and partition, and what settings.env says; with `runs` also what a
/// training asks for.
std::string measure_values(const MeasureUse& use, bool runs, const models::Job& job,
                           const planner::Target& target);

/// Shell function that runs nccom-test: table CORES NODES COMMAND...
std::string nccom_table();

/// Rule for reading the results: "By the measurement plan 2 is the better choice if its step is below 0.998
/// times that of plan 1."; "" if tables are measured.
std::string rule_text(const planner::Experiment& measurement);

/// measure.sh for the folder of the first plan, with that folder's settings. It measures under Slurm, or without
/// Slurm on the node where it is started. Then it runs `trnplan calibrate` on the results and `trnplan plan` with
/// the new profile. Folders measure-1 and measure-2 hold the files of a training job of kShortRunSteps steps. Each
/// run gets a copy of its own, so that none resumes from another's checkpoint, and a second call skips finished
/// runs. Throws std::invalid_argument if the target cannot express a plan.
std::vector<io::OutputFile> measure_files(const models::Job& job, const planner::Plan& first,
                                          const planner::Plan& second, const planner::Experiment& measurement,
                                          const planner::Target& target, const MeasureUse& use);

/// A script of that name that times on the plan's machine what `shapes` says, teaches the profile and plans again.
/// Calls python3 with torch and nccl-tests, or with torch_neuronx and nccom-test; what is not installed is left out.
/// Requires: not empty.
io::OutputFile measure_machine_file(const models::Job& job, const planner::Plan& plan,
                                    const planner::MachineShapes& shapes, const planner::Target& target,
                                    const MeasureUse& use, const char* name);

}  // namespace trnplan::launch
