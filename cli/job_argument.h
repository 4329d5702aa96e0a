// Argument JOB of a command, and options that state parts of a job.
#pragma once

#include <string>
#include <vector>

#include "api/plan.h"

namespace CLI {
class App;
}

namespace trnplan::cli {

using JobArgument = api::JobInput;

/// Parts of a job that a command's options may state.
enum class JobPart {
  cluster,   ///< --nodes, --instance
  network,   ///< --all-reduce-gbps, --measured
  training,  ///< --sequence, --global-batch, --precision, --release
  tokens,    ///< --tokens
  limits,    ///< --objective, --deadline, --budget
};

/// Adds the argument and the options of `parts`.
void add_job_argument(CLI::App& command, JobArgument& argument, const std::vector<JobPart>& parts);
/// The same with the job as an option, --job, that may be missing.
void add_job_option(CLI::App& command, JobArgument& argument, const std::vector<JobPart>& parts);

/// The same job as words of another command line, which may run in another folder.
api::JobWords words_of(const JobArgument& argument);

}  // namespace trnplan::cli
