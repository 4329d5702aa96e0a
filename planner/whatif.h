// Clusters compared: for each instance type and number of nodes the best strategy, its step, the goodput with
// failures and checkpoints, days and dollars of a whole run; and which of them to take.
//
//   days     = tokens / (tokens per second x goodput)
//   interval = days x exp(-/+ sqrt(a^2 + b^2)), a and b the logarithmic half-widths of step and goodput
// Strong scaling keeps the global batch, weak scaling the global batch per node of the job. Weak scaling
// changes what is learned per token; that is not modelled. Nor is the time a job waits for its nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/job.h"
#include "models/profile.h"
#include "planner/goodput.h"
#include "planner/prices.h"
#include "planner/search.h"

namespace trnplan::planner {

enum class Scaling { strong, weak };
/// What to take of the clusters that keep deadline and budget. `fitting`: the cheapest when there is a
/// deadline or neither, the fastest when there is only a budget.
enum class Preference { fitting, cheapest, fastest, smallest };

struct WhatIfQuestion {
  std::vector<topology::Instance> instances;  ///< at least one
  std::vector<int> nodes;                     ///< ascending, at least one
  double tokens = 0;                          ///< of the whole run, above 0
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
};

/// One cluster.
struct WhatIfPoint {
  std::string instance;
  int nodes = 0;
  int global_batch = 0;
  std::optional<Plan> plan;  ///< absent: nothing is legal and fits, `why` says what is wrong
  std::string why;
  std::string remark;  ///< what may go wrong although there is a plan; may be empty

  Bytes checkpoint{};
  GoodputEstimate goodput;
  Seconds run{};    ///< of all tokens, with failures and checkpoints
  Interval run_90;  ///< seconds
  std::optional<Bill> bill;
  std::optional<double> usd;  ///< of the run; absent without a price
  double efficiency = 0;  ///< tokens/s a node over that of the smallest cluster of the type that has a plan
  bool pareto = false;    ///< no other one is at most as long, dear and large, and less in one of these
  double in_time = 0;     ///< probability of keeping the deadline, run log-normal; 1 without one

  bool keeps(const WhatIfQuestion& q) const;  ///< median run within the deadline, price within the budget
};

struct WhatIfResult {
  std::vector<WhatIfPoint> points;  ///< by instance, then nodes, as asked
  int recommended = -1;             ///< index, -1 = none
  std::string reason;               ///< why this one, or why none
};

using SearchFunction =
    std::function<SearchResult(const models::Job&, const models::Profile&, const SearchOptions&)>;

/// Cost: one search and one goodput estimate a point. Deterministic. A pinned data-parallel degree is left
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

}  // namespace trnplan::planner
