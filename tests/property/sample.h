// Random small jobs for property tests.
#pragma once

#include <initializer_list>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/memory/memory.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "tests/models/setup.h"

namespace trnplan {

struct Sample {
  models::Job job;
  models::Strategy strategy;
};

/// A small random Llama-like job and one of its strategies that break no rule (replica groups may be any).
/// One in four has virtual pipeline, one in four context parallel.
inline Sample random_sample(unsigned seed) {
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  const int kind = pick({0, 1, 2, 3});
  models::Job job = job_of("llama3-8b", pick({1, 1, 2, 4}), pick({2048, 4096}), pick({16, 64, 128}));
  job.architecture.layers = kind == 2 ? pick({8, 16}) : pick({4, 5, 8, 11});
  job.architecture.vocabulary = pick({32000, 128256});
  job.architecture.flash_attention = kind == 3 || pick({0, 1}) == 1;
  job.training.precision =
      pick({0, 1, 2}) > 0 ? models::Precision::mixed_precision : models::Precision::bf16_sr;
  job.pin.zero1 = pick({0, 1, 1}) == 1;
  job.pin.virtual_pipeline = kind == 2 ? pick({2, 4}) : 1;
  job.pin.context_parallel = kind == 3 ? pick({2, 4}) : 1;
  std::vector<models::Strategy> legal;
  models::Job with_its_kernel = job;  // as each model is shipped
  with_its_kernel.pin.flash_attention = job.architecture.flash_attention;
  for (const models::Strategy& s : planner::enumerate(with_its_kernel)) {
    if (kind == 2 && s.pipeline_parallel < 2) continue;
    if (planner::rule_violations(job, s).empty() && models::micro_batches(job.training, s) <= 32)
      legal.push_back(s);
  }
  if (legal.empty()) return random_sample(seed + 100'000);
  const auto last = static_cast<int>(legal.size()) - 1;
  return {job,
          legal[static_cast<std::size_t>(boost::random::uniform_int_distribution<int>(0, last)(random))]};
}

}  // namespace trnplan
