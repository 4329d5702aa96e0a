// Files of logs, what ran when they were written, and the steps they show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "logs/detect/detect.h"
#include "models/job/job.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// The configuration of the runs whose logs are read.
struct WhatRan {
  models::Job job;
  std::optional<models::Strategy> strategy;  ///< absent: a job without --strategy
  std::string from;                          ///< the file that says so
};

/// One file that was read.
struct LogFile {
  std::string path;
  std::string sha256;
  logs::Detected content;
};

/// Steps of logs, and what ran when they were written.
struct RanSamples {
  std::vector<logs::StepSample> samples;
  std::optional<WhatRan> ran;
  std::string folder;  ///< that tells logs of one name apart; may be empty
};

/// The step samples of all files that can be compared with a prediction, in the order of files and lines.
/// Where `ran` is known, they state its framework, release, batch and sequence; a sample that states another
/// batch or sequence is left out, with a remark.
[[nodiscard]] std::vector<logs::StepSample> step_samples(const std::vector<LogFile>& files,
                                                         const std::optional<WhatRan>& ran, Remarks& remarks);

/// Nothing but points of nccom-test.
[[nodiscard]] bool only_points(const logs::Detected& content);

}  // namespace trnplan::calibrate
