// The argument JOB of a command, and the options that state parts of a job.
#pragma once

#include <string>
#include <vector>

#include "io/input/job_input.h"

namespace CLI {
class App;
}

namespace trnplan::cli {

struct JobArgument {
  std::string job;  ///< a job.yaml, a model of the catalogue, a config.json or an NxDT YAML
  io::JobOptions options;
};

/// The parts of a job that a command's options may state.
enum class JobPart {
  cluster,   ///< --nodes, --instance
  training,  ///< --sequence, --global-batch, --precision, --release
  tokens,    ///< --tokens
  limits,    ///< --objective, --deadline, --budget
};

/// Adds the argument and the options of `parts`.
void add_job_argument(CLI::App& command, JobArgument& argument, const std::vector<JobPart>& parts);

/// Reads the job and says on standard error what was noticed, assumed and replaced. Throws InputError.
io::JobReading load_job(const JobArgument& argument, const io::Catalog& catalog);

/// The same job as words of another command line, which may run in another folder.
struct JobWords {
  std::string job;                   ///< a path made absolute, or the model
  std::vector<std::string> options;  ///< as they were given
};
JobWords words_of(const JobArgument& argument);

}  // namespace trnplan::cli
