#include "calibrate/session/samples.h"

#include <fmt/format.h>

#include <tuple>

namespace trnplan::calibrate {

namespace {

using logs::StepSample;

bool differs(const std::optional<double>& stated, int wanted) {
  return stated && wanted > 0 && *stated != wanted;
}

/// The sample with the job's values; nullopt, with a remark, if it is of another job.
std::optional<StepSample> completed(StepSample s, const WhatRan& ran, Remarks& remarks) {
  const models::Training& training = ran.job.training;
  for (const auto& [stated, wanted, what] :
       {std::tuple{s.global_batch, training.global_batch, "global batch"},
        std::tuple{s.sequence, training.sequence, "sequence"}}) {
    if (!differs(stated, wanted)) continue;
    remarks.add(Diagnostic{
        s.at, "", fmt::format("left out: {} {:.0f} in this log, {} in {}", what, *stated, wanted, ran.from),
        "give the job that wrote the log, or calibrate the logs separately"});
    return std::nullopt;
  }
  if (!s.global_batch && training.global_batch > 0) s.global_batch = training.global_batch;
  if (!s.sequence && training.sequence > 0) s.sequence = training.sequence;
  // The user's statement outweighs hints in the words of a log.
  if (!ran.job.software.framework.empty()) s.framework = ran.job.software.framework;
  if (s.release.empty()) s.release = ran.job.software.release;
  if (!s.wall_seconds && s.sequences_per_second && s.global_batch) {
    s.wall_seconds = *s.global_batch / *s.sequences_per_second;
  }
  if (!s.tokens_per_second && s.sequences_per_second && s.sequence) {
    s.tokens_per_second = *s.sequences_per_second * *s.sequence;
  }
  return s;
}

}  // namespace

std::vector<StepSample> step_samples(const std::vector<LogFile>& files, const std::optional<WhatRan>& ran,
                                     Remarks& remarks) {
  std::vector<StepSample> samples;
  for (const LogFile& file : files) {
    for (const StepSample& sample : file.content.steps) {
      if (!ran) {
        samples.push_back(sample);
      } else if (auto known = completed(sample, *ran, remarks)) {
        samples.push_back(std::move(*known));
      }
    }
  }
  return samples;
}

bool only_points(const logs::Detected& content) {
  return content.kinds.size() == 1 && (!content.points.empty() || !content.tables.empty());
}

}  // namespace trnplan::calibrate
