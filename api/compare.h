// compare: two strategies, plans, configs or clusters of one job.
#pragma once

#include <string>

#include "api/resolve.h"
#include "planner/confidence/plan_comparison.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Each side is, as its text shows:
///   4xtrn1.32xlarge             the job's recommended plan on that cluster
///   4xtrn1.32xlarge:tp=8,pp=4   this strategy there
///   tp=8,pp=4                   this strategy on the job's cluster
///   my-plan                     a folder of plan --out
///   nxdt.yaml                   a config or a start script, as check reads it
/// The job is needed for the first three, and gives the machine of a script. `hardware` and `price` change the
/// machines of the job, and are refused for the last two.
struct CompareRequest : Asked {
  std::string first, second;
  std::string price;  ///< of nodes by type, instead of the catalogue's; see stated_prices()
};

/// Throws InputError with the faults of both sides: also if a side cannot be simulated, or if they train
/// different models. Cost: a simulation for a strategy, a search for a cluster alone.
[[nodiscard]] planner::PlanComparison compare(const CompareRequest& request, Remarks& remarks);

}  // namespace trnplan::api
