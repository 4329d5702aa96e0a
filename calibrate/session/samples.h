// Log files, the job that wrote them, and the steps in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "logs/detect/detect.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// The configuration of the runs that wrote the logs.
struct WhatRan {
  models::Job job;
  std::optional<models::Strategy> strategy;  ///< absent for a job without --strategy
  std::string from;                          ///< the file that states it
};

/// One file that was read.
struct LogFile {
  std::string path;
  std::string sha256;
  logs::Detected content;
  std::uint64_t bytes = 0;  ///< 0 = not known

  /// Name without folders, hash and size.
  [[nodiscard]] models::CalibrationFile fingerprint() const;
};

/// Steps of logs, and the job that wrote them.
struct RanSamples {
  std::vector<logs::StepSample> samples;
  std::optional<WhatRan> ran;
  std::string folder;  ///< distinguishes logs of one name; may be empty
};

/// The sample with the job's values, and with the seconds of a step by the throughput that it states; nullopt, with
/// a remark, if it is of another job.
[[nodiscard]] std::optional<logs::StepSample> completed(logs::StepSample sample, const WhatRan& ran,
                                                        Remarks& remarks);

/// Samples that count so far, as their logs state them: none counts twice.
using SeenSteps = std::vector<logs::StepSample>;

/// The step samples of all files that can be compared with a prediction, in the order of files and lines. If
/// `ran` is known, it sets their framework, release, batch and sequence; a sample that states another batch
/// or sequence, or other tokens a step, is excluded, with a remark; so is one that shows the same steps as another
/// log, of these files or `seen`, to which those that count are added.
[[nodiscard]] std::vector<logs::StepSample> step_samples(const std::vector<LogFile>& files,
                                                         const std::optional<WhatRan>& ran, SeenSteps& seen,
                                                         Remarks& remarks);

/// Words on the seconds of a run whose log shows two times of a step: " from step to step (3.5 by the step time in
/// the log)"; `printed`: that step time, 0 = none.
[[nodiscard]] std::string measured_as(bool by_rate, double printed);

/// Log and job disagree if the tokens of a step that the log implies differ by more: above the noise of a rate.
inline constexpr double kSameTokens = 0.1;
/// Words on the tokens of a step that the log states, if the job has others; else "".
[[nodiscard]] std::string other_tokens(const logs::StepSample& sample, const models::Job& job);

/// Words on the FLOPs of a token that the log implies by its FLOPS and by the tokens of the job, if those of the model
/// are others by more than kSameTokens; else "". Frameworks count attention whole, or half of it where it is causal:
/// NVIDIA/Megatron-LM@86df799:megatron/training/training.py (num_floating_point_operations), and later ones;
/// pytorch/torchtitan@b5bcd76:torchtitan/models/utils.py.
inline constexpr const char* kWhatFlopsDecides =
    "check the model of the job: layers, hidden size, vocabulary, experts; then its batch and nodes";
[[nodiscard]] std::string other_flops(const logs::StepSample& sample, const models::Job& job);

/// Words on the layout that the log states, if it is another: "TP 2, on 64 GPUs by the log, but TP 1, on 32 GPUs";
/// else "". Without a strategy only the devices are compared.
[[nodiscard]] std::string other_layout(const logs::StepSample& sample, const models::Job& job,
                                       const std::optional<models::Strategy>& strategy);

/// True if the content is nothing but points of nccom-test.
[[nodiscard]] bool only_points(const logs::Detected& content);

}  // namespace trnplan::calibrate
