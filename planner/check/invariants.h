// What holds of every plan that is printed, whatever the model says of its time: cheap enough for each answer. Rules,
// memory and schedules are worked out a second time by tests/second_opinion alone.
//
//   ranks        TP x PP x CP x DP is the number of the cluster's cores
//   batch        the global batch is that of micro-batches x micro-batch x DP, one micro-batch at least
//   experts      EP above 1 only with experts, and TP x PP x EP divides the cores
//   layers       the stages' layers add up to the model's; none has less than one, but where the training loop cuts by cost
//   memory       of each stage: no part is negative, the peak is states, runtime and the largest of its moments; the worst
//                stage's is at most the device's memory
//   fit          the fit probability is the one asked for at least
//   step         positive and finite, inside its interval; the breakdown adds up to it (1e-9)
//   groups       each rank is once in the tensor-, context- and data-parallel groups and among the KV copies, and in as many pairs
//                of pipeline stages as any other
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// Those that `plan` of `job` breaks, a sentence each; empty = none. `fit_probability` as in SearchOptions. Errors: none.
/// Cost: linear in ranks and stages, microseconds for a hundred ranks.
[[nodiscard]] std::vector<std::string> broken_invariants(const models::Job& job, const Plan& plan,
                                                         double fit_probability);

}  // namespace trnplan::planner
