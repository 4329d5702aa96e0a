// Steps and memory that logs show, and what ran when they were written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "logs/detect/detect.h"
#include "models/job/job.h"

namespace trnplan::cli {

/// The configuration of the runs whose logs are read.
struct WhatRan {
  models::Job job;
  std::optional<models::Strategy> strategy;  ///< absent: a job without --strategy
  std::string from;                          ///< the file that says so
};

/// Reads --job and --strategy, or --config (an NxDT YAML; on nodes of `instance`); nullopt when none is
/// given. Throws InputError with every fault, also when both are given or a strategy without a job.
std::optional<WhatRan> what_ran(const std::string& job, const std::string& strategy,
                                const std::string& config, const std::string& instance,
                                const io::Catalog& catalog);

/// What a folder of `plan --out` ran, by its plan.json. Throws InputError.
WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog);
/// The paths of its train-*.out, as its train.sbatch names logs. Throws InputError where there is none.
std::vector<std::string> logs_of_folder(const std::string& folder);

/// One file that was read.
struct LogFile {
  std::string path;
  std::string sha256;
  logs::Detected content;
};

/// The step samples of all files that can be compared with a prediction, in the order of files and lines.
/// Where `ran` is known, they state its framework, release, batch and sequence; a sample that states another
/// batch or sequence is left out, with a remark.
std::vector<logs::StepSample> step_samples(const std::vector<LogFile>& files,
                                           const std::optional<WhatRan>& ran);

/// "job.yaml: 2 of 3 step samples are of it", and these with what the job says of them; "" when nothing says
/// what ran.
std::string of_job_text(const std::vector<logs::StepSample>& kept, const std::vector<LogFile>& files,
                        const std::optional<WhatRan>& ran);

/// What was understood of a file beside nccom-test points, indented; "" when there is nothing.
std::string log_text(const logs::Detected& content);

}  // namespace trnplan::cli
