// Changes with which a run keeps its limits: more time, fewer tokens, other checkpoints.
#pragma once

#include <vector>

#include "planner/cost/cluster_points.h"
#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Changes that help where no cluster keeps the limits of the question, on the cluster of `considered` where each helps
/// most: a deadline, a budget or fewer tokens with which they are kept with the confidence asked for (one half without
/// one), on clusters whose plans work with that probability; and, on the one that is most likely to keep them,
/// checkpoints written during the training, their best interval and an agent that restarts the job, where they are not
/// used yet and help. Each is what the changed question answers: where nodes are solved for, `considered` are of
/// tried_numbers(). Cost: some twenty goodput estimates and at most eight searches.
[[nodiscard]] std::vector<WhatHelps> what_helps(const std::vector<WhatIfPoint>& considered,
                                                const WhatIfPoint& likeliest, const ClusterPoints& clusters);

}  // namespace trnplan::planner
