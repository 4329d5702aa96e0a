// What to do about a failure: which rule or budget was hit, and the next plan that keeps it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logs/training/failures.h"
#include "models/job/job.h"
#include "models/job/strategy.h"
#include "models/parameters/profile.h"
#include "planner/confidence/observations.h"
#include "planner/plan/plan.h"
#include "topology/rank_order.h"

namespace trnplan::launch {

/// What ran when the log was written.
struct RanPlan {
  models::Job job;
  std::optional<models::Strategy> strategy;
  bool assumed = false;  ///< nothing says what ran: a job stands in so that a plan can be named
};

struct Advice {
  logs::Failure failure;
  std::string rule;     ///< of api/rules where one was broken ("replica-group", "memory"); else ""
  std::string problem;  ///< what was hit, with numbers
  std::string fix;
  std::optional<topology::GroupKind> kind;  ///< of the refused group, where the layout tells
  std::vector<int> ranks;                   ///< of the refused group; cores of the first node
  std::vector<int> chips;                   ///< its chips
  std::optional<planner::Plan> next;        ///< that keeps it
};

/// Plans of a job with a profile: the recommended one, then at most so many of the fastest.
using FindPlans = std::function<std::vector<planner::Plan>(const models::Job&, const models::Profile&, int)>;

/// One entry a failure. The next plan is the one that is recommended for the job, where it mends the failure, else the
/// fastest that does with the same PP and CP: after a refused group any legal one; after full memory one that needs less
/// than what failed, by as much as the log says it was too large. Cost: up to two searches for each failure that a plan
/// can mend.
std::vector<Advice> advise(const std::vector<logs::Failure>& failures, const RanPlan& ran,
                           const models::Profile& profile, const FindPlans& find);

/// What a log teaches beyond the rules: groups that the runtime refused, plans whose memory did not do, and,
/// where steps were done, groups of what ran that the rules refuse or doubt. A failure after which the run
/// went on (a step on a later line than `last_step_line`, 0 for none) teaches nothing.
std::vector<planner::Observation> observations_of(const std::vector<Advice>& advice, const RanPlan& ran,
                                                  int last_step_line, const std::string& file,
                                                  const std::string& sha256);

}  // namespace trnplan::launch
