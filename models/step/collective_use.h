// The collectives of a step, as a guide for measurements of collectives.
#pragma once

#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/step/step.h"

namespace trnplan::models {

/// One operation on groups of one shape, over all sizes that a step uses.
struct CollectiveUse {
  CollectiveOp op = CollectiveOp::all_gather;
  int ranks = 2;                ///< of a group
  int nodes = 1;                ///< nodes of a group
  Bytes smallest{}, largest{};  ///< as models::collective() counts them
  bool operator==(const CollectiveUse&) const = default;
};

/// The collectives of every stage's layers, head, embedding and end of step, without messages and permutes,
/// which go from rank to rank. Ordered by operation, nodes and ranks. Cost: O(items of the stages).
std::vector<CollectiveUse> collectives_of(const StepModel& step);

}  // namespace trnplan::models
