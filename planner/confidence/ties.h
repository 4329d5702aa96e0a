// Which other plans may be as good as the recommended one: those that the model cannot tell from it.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/search/search.h"

namespace trnplan::planner {

/// Plans of one layout (TP, PP, CP, DP, EP, VPP), cluster and micro-batch, which differ in what they
/// recompute and where they cut.
struct Tie {
  Plan plan;  ///< the best of them; of those like the first plan, the best but the first
  double first_is_better = 0.5;
  int others = 0;           ///< more of them that are tied too
  bool like_first = false;  ///< of the first plan's own layout, cluster and micro-batch
};

/// Among the ranked plans and the best ones of other layouts, those of which the recommended plan, here the first, is
/// better with a probability below `sure`; the fastest is left out, which is named anyhow. Nearest to safe first: those
/// that need less memory than the first plan and no more cuts by hand, then the others; each by probability. Those like
/// the first plan come last.
std::vector<Tie> ties_of(const models::Job& job, const SearchResult& result, const models::Profile& profile,
                         double sure);

}  // namespace trnplan::planner
