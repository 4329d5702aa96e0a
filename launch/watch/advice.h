// Advice on a failure: the rule or budget that was hit, and the next plan that respects it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/watch/ran_plan.h"
#include "logs/training/failures.h"
#include "models/job/strategy.h"
#include "models/parameters/profile.h"
#include "planner/confidence/observations.h"
#include "planner/plan/plan.h"
#include "topology/rank_order.h"

namespace trnplan::launch {

struct Advice {
  logs::Failure failure;
  std::string rule;     ///< of api/rules if one was broken ("replica-group", "memory"); else ""
  std::string problem;  ///< the limit that was hit, with numbers
  std::string fix;
  std::optional<topology::GroupKind> kind;  ///< of the refused group, if the layout determines it
  std::vector<int> ranks;                   ///< of the refused group; cores of the first node
  std::vector<int> chips;                   ///< its chips
  std::optional<planner::Plan> next;        ///< that avoids the failure
};

/// Finds plans of a job with a profile: the recommended one, then at most that many of the fastest.
using FindPlans = std::function<std::vector<planner::Plan>(const models::Job&, const models::Profile&, int)>;

/// One entry per failure. The next plan is the recommended one if it avoids the failure, else the fastest one
/// that does with the same PP and CP. After a refused group any legal plan will do; after full memory one
/// that needs less than the failed plan, by as much as the log reports in excess. Cost: up to two searches
/// for each failure that a plan can avoid.
std::vector<Advice> advise(const std::vector<logs::Failure>& failures, const RanPlan& ran,
                           const models::Profile& profile, const FindPlans& find);

/// Facts that a log shows: groups that the runtime refused, plans that ran out of memory and, if steps were done, that
/// the running plan fits, and its groups that the rules refuse or doubt. A failure after which the run continued (a
/// step on a line after `last_step_line`, 0 for none) gives no observation. `timed`: a step was seen from begin to end.
std::vector<planner::Observation> observations_of(const std::vector<Advice>& advice, const RanPlan& ran,
                                                  int last_step_line, bool timed, const std::string& file,
                                                  const std::string& sha256);

}  // namespace trnplan::launch
