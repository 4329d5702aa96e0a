// Judges jobs that a fuzzed file describes, if that takes milliseconds.
#pragma once

#include "models/parameters/profile.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "tests/fuzz/fuzz.h"

namespace trnplan::fuzz {

inline bool is_small(const models::Job& job, const models::Strategy& s) {
  return job.cluster.nodes <= 4 && job.architecture.layers <= 8 && job.architecture.experts <= 8 &&
         models::micro_batches(job.training, s) <= 16 && s.pipeline_parallel <= 8;
}

/// Judges its rules and its count of parameters at any size; its step if it is small.
inline void judge_job(const models::Job& job, const models::Strategy& stated,
                      const models::Profile& profile) {
  const models::Strategy s = models::canonical(stated);
  ensure(models::parameters(job.architecture) > 0, "a model has parameters");
  planner::rule_violations(job, s);
  if (is_small(job, s)) planner::judge(job, s, profile);
}

}  // namespace trnplan::fuzz
