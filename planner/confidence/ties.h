// Ties: other plans that may be as good as the recommended one, because the model cannot distinguish them.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/search/search.h"

namespace trnplan::planner {

/// Plans of one training loop, layout (TP, PP, CP, DP, EP, VPP), cluster and micro-batch, which differ in
/// recomputation and cuts.
struct Tie {
  Plan plan;  ///< the best of them; of those like the first plan, the best but the first
  double first_is_better = 0.5;
  int others = 0;           ///< number of further plans that are tied
  bool like_first = false;  ///< has the first plan's layout, cluster and micro-batch
};

/// The plan with the least cost per token by the job's objective, of the ranked ones and `others`, which are
/// those of other training loops; with a deadline, of those with the fewest nodes. Requires: there are plans.
[[nodiscard]] const Plan& fastest_of(const models::Job& job, const SearchResult& result,
                                     const std::vector<Plan>& others);

/// Ties among the ranked plans, the best ones of other layouts and `others`: the recommended plan, here the
/// first, is better than each with a probability below `sure`, and each works with at least `sure` times the first's
/// probability. The fastest is left out, because it is always named.
/// Nearest to safe first: those that need less memory than the first plan and no more cuts by hand, then the
/// others; each by probability. Those like the first plan come last.
std::vector<Tie> ties_of(const models::Job& job, const SearchResult& result, const models::Profile& profile,
                         double sure, const std::vector<Plan>& others = {});

}  // namespace trnplan::planner
