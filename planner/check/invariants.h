// Invariants of every plan that is printed, whatever its predicted time: cheap enough for each answer.
// tests/second_opinion alone computes rules, memory and schedules a second time.
//
//   ranks        TP x PP x CP x DP is the number of the cluster's cores
//   batch        the global batch is micro-batches x micro-batch x DP, with at least one micro-batch
//   experts      EP above 1 only with experts, and TP x PP x EP divides the cores
//   layers       the stages' layers add up to the model's; each has at least one, unless the training
//                loop cuts by cost
//   memory       of each stage: no part is negative, and the peak is states, runtime and the largest of its
//                moments; the worst stage's is at most the device's memory
//   fit          the fit probability is at least the one asked for
//   step         positive and finite, inside its interval; the breakdown adds up to it (1e-9)
//   groups       each rank is once in the tensor-, context- and data-parallel groups and among the KV copies,
//                and in as many pairs of pipeline stages as any other
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// Invariants that `plan` of `job` breaks, a sentence each; empty = none. `fit_probability` as in
/// SearchOptions. Errors: none. Cost: linear in ranks and stages, microseconds for a hundred ranks.
[[nodiscard]] std::vector<std::string> broken_invariants(const models::Job& job, const Plan& plan,
                                                         double fit_probability);

}  // namespace trnplan::planner
