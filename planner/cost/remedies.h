// Changes with which a run keeps its limits: more time, fewer tokens, other checkpoints.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Changes that help `point`, a cluster with a plan that misses the limits of `question`: a deadline, a budget
/// or fewer tokens with which they are kept with the confidence asked for (one half without one), where its plan
/// works with that probability; checkpoints written during the training, their best interval and an agent that
/// restarts the job, where they are not used yet and help. `job` is on the cluster. Cost: up to three goodput
/// estimates.
[[nodiscard]] std::vector<WhatHelps> what_helps(const WhatIfPoint& point, const WhatIfQuestion& question,
                                                const models::Job& job, const RunTerms& terms,
                                                const Reliability& reliability);

}  // namespace trnplan::planner
