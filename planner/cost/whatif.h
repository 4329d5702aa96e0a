// Clusters compared: for each instance type and number of nodes the best strategy, its step, the goodput with
// failures and checkpoints, days and dollars of a whole run; and which of them to take.
//
// planner/cost/run_forecast.h says how tokens, days and dollars follow from each other.
// Strong scaling keeps the global batch, weak scaling the global batch per node of the job. Weak scaling
// changes what is learned per token; that is not modelled. Nor is the time a job waits for its nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/cost/goodput.h"
#include "planner/cost/prices.h"
#include "planner/cost/run_forecast.h"
#include "planner/search/search.h"

namespace trnplan::planner {

enum class Scaling { strong, weak };
/// What to take of the clusters that keep deadline and budget. `fitting`: the cheapest when there is a
/// deadline or neither, the fastest when there is only a budget or when tokens are asked for: the fastest is
/// then the one that reaches most, the cheapest the one with most tokens a dollar.
enum class Preference { fitting, cheapest, fastest, smallest };

struct WhatIfQuestion {
  std::vector<topology::Instance> instances;  ///< at least one
  std::vector<int> nodes;                     ///< ascending, at least one
  double tokens = 0;  ///< of the whole run; 0 = what deadline and budget let it reach, one of which is stated
  std::optional<Seconds> deadline;
  std::optional<double> budget;  ///< USD
  Scaling scaling = Scaling::strong;
  Preference preference = Preference::fitting;
  Recovery recovery = Recovery::automatic;
  bool asynchronous = false;  ///< checkpoints
  int checkpoint_steps = 0;   ///< 0 = those that are best
  bool allow_doubtful = false;
  PriceOptions prices;
  SamplingOptions sampling;

  bool asks_for_tokens() const { return tokens <= 0; }
};

/// One cluster.
struct WhatIfPoint {
  std::string instance;
  int nodes = 0;
  int global_batch = 0;
  std::optional<Plan>
      plan;  ///< the one that the search recommends; absent: nothing is legal and fits, `why` says what is wrong
  std::string why;
  std::string fix;              ///< what would give it a plan; may be empty
  int nodes_that_would_do = 0;  ///< where memory is missing: so many have it; 0 = not that, or none do
  std::string remark;           ///< what may go wrong although there is a plan; may be empty

  /// What `plan --target` has to name for this plan, "" where `plan` finds it by itself; absent where no target writes
  /// its training loop, or there is no plan. Of those who search.
  std::optional<std::string> target;

  RunAnswer run;          ///< of all tokens, or of all the time there is
  double efficiency = 0;  ///< tokens/s a node over that of the smallest cluster of the type that has a plan
  bool pareto =
      false;  ///< no other one is at most as long (reaches as much), dear and large, and less in one

  /// Median run within the deadline, price within the budget; where tokens are asked for, some are reached.
  bool keeps(const WhatIfQuestion& q) const;
  /// Likewise with 90 % instead of at the median.
  bool keeps_surely(const WhatIfQuestion& q) const;
};

/// An instance type among those asked for (planner/cost/instance_comparison.h).
struct InstanceStanding {
  std::string instance, family;
  int point = -1;       ///< the cluster that stands for it
  double cheapest = 0;  ///< probability that its tokens are the cheapest of the types with a price
  std::optional<topology::Price> price;  ///< of a node, of the kind asked for
  std::vector<topology::Price> others;   ///< of the kinds not asked for, the latest of each
  /// USD a node and hour at which its tokens cost as much as those of `against`, the cheapest other type; absent
  /// where no other has a price.
  std::optional<double> break_even;
  std::string against;
};

struct WhatIfResult {
  std::vector<WhatIfPoint> points;          ///< by instance, then nodes, as asked
  std::vector<InstanceStanding> standings;  ///< of the types that have a plan
  std::string because;                      ///< why the recommended one, in two sentences; "" without one
  int recommended = -1;                     ///< index, -1 = none
  std::string reason;                       ///< why this one, or why none
  int surer =
      -1;  ///< what to take instead to keep the limits with 90 %, where the recommended does not; -1 = none
  /// Without a recommendation: the smallest cluster above those asked for that keeps the limits, where nodes
  /// are what is missing; beyond 32 nodes to a sixteenth of the distance to the last that does not.
  std::optional<WhatIfPoint> would_do;
  /// Likewise, where tokens are stated: the point that gets farthest within deadline and budget; its `run`
  /// says how far.
  std::optional<WhatIfPoint> reaches;
};

/// `a` is preferred to `b`, of two that keep the limits.
[[nodiscard]] bool preferred(const WhatIfPoint& a, const WhatIfPoint& b, const WhatIfQuestion& q);

using SearchFunction =
    std::function<SearchResult(const models::Job&, const models::Profile&, const SearchOptions&)>;

/// Cost: one search and one goodput estimate a point; without a recommendation up to 22 clusters more of each
/// instance type are looked at, of which those are searched whose bounds leave it open whether they keep the limits (a tenth
/// of a search each). Deterministic. A pinned data-parallel degree is left
/// out where the nodes are not the job's, since it follows from them.
WhatIfResult whatif(const models::Job& job, const WhatIfQuestion& question, const models::Profile& profile,
                    const Reliability& reliability, const SearchFunction& search = planner::search);

/// A published uptime beside what the parameters predict.
struct UptimeCheck {
  Seconds step{};
  Bytes checkpoint{};
  GoodputEstimate estimate;
  double implied_rate = 0;  ///< failures per node and day at which the median would be the published one
};
/// `job` and `strategy` are those the published run names.
UptimeCheck check_uptime(const PublishedUptime& published, const models::Job& job,
                         const models::Strategy& strategy, const models::Profile& profile,
                         const Reliability& reliability);

/// A published uptime beside what is predicted of it.
struct CheckedUptime {
  PublishedUptime published;
  UptimeCheck check;
};

}  // namespace trnplan::planner
