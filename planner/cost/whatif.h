// Comparison of clusters: for each instance type and number of nodes the best strategy, its step, the goodput
// with failures and checkpoints, days and dollars of a whole run; and the cluster to take.
//
// planner/cost/run_forecast.h says how tokens, days and dollars follow from each other. Strong scaling keeps
// the global batch, weak scaling the global batch per node of the job. Weak scaling changes what is learned
// per token; that is not modelled. Nor is the time a job waits for its nodes.
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
#include "topology/instance.h"

namespace trnplan::planner {

enum class Scaling { strong, weak };
/// Choice among the clusters that keep deadline and budget. `fitting`: the cheapest if there is a deadline or
/// no limit; the fastest if there is only a budget or tokens are asked for. If tokens are asked for, the
/// fastest reaches the most tokens, and the cheapest gives the most tokens per dollar.
enum class Preference { fitting, cheapest, fastest, smallest };

struct WhatIfQuestion {
  std::vector<topology::Instance> instances;  ///< at least one
  /// Ascending. Empty: solved for, which takes tokens, and a deadline or a budget
  /// (planner/cost/node_solver.h).
  std::vector<int> nodes;
  int most_nodes = topology::kMostNodes;  ///< where nodes are solved for
  /// Tokens of the whole run; 0 = as many as deadline and budget allow, one of which must be stated.
  double tokens = 0;
  std::optional<Seconds> deadline;
  std::optional<double> budget;  ///< USD
  /// Least RunAnswer::probability_in_limits of a cluster that keeps them, above 0 and below 1; without limits, of
  /// one that works. Absent: the median run keeps them, if it works.
  std::optional<double> confidence;
  Scaling scaling = Scaling::strong;
  Preference preference = Preference::fitting;
  Recovery recovery = Recovery::automatic;
  bool asynchronous = false;  ///< checkpoints
  int checkpoint_steps = 0;   ///< 0 = the best number
  bool allow_doubtful = false;
  std::string
      scenario;  ///< of the machine, in which the search times plans, as it was asked for; empty: ideal
  PriceOptions prices;
  SamplingOptions sampling;
  /// Clusters that are judged at the same time, 0: as many as the machine has cores. If not 1, the search
  /// function is called by several threads. It changes no answer.
  int threads = 1;

  bool asks_for_tokens() const { return tokens <= 0; }
  bool solves_for_nodes() const { return nodes.empty(); }
  bool has_limits() const { return deadline || budget; }
};

/// One cluster.
struct WhatIfPoint {
  std::string instance;
  int nodes = 0;
  int global_batch = 0;
  /// The plan that the search recommends; absent if nothing is legal and fits, for the reason in `why`.
  std::optional<Plan> plan;
  std::string why;
  bool too_large = false;  ///< for lack of memory
  std::string fix;         ///< remedy for the lack of a plan; may be empty
  /// Number of nodes with enough memory, if memory is missing; 0 = another reason, or none have it.
  int nodes_that_would_do = 0;
  std::string remark;  ///< risk of the plan; may be empty

  /// Value of `plan --target` for this plan, "" if `plan` finds it by itself. Absent if no target writes its
  /// training loop, or there is no plan. Set by the caller that searches.
  std::optional<std::string> target;

  RunAnswer run;          ///< for all tokens, or for all the available time
  double efficiency = 0;  ///< tokens/s per node over that of the smallest cluster of the type that has a plan
  /// No other point is as fast (or reaches as much), as cheap and as small, and better in one of these.
  bool pareto = false;

  /// Distance to the next number of nodes that was judged and does not keep the limits, if nodes were solved
  /// for; 1: every smaller number (with a budget alone, every larger one) misses them. Else 0.
  int resolution = 0;

  /// The probability that it works and keeps the limits, if there are any. Requires: a plan.
  double probability(const WhatIfQuestion& q) const;
  /// True if the limits are kept with the confidence asked for or, without one, if the median run keeps the
  /// deadline and its price the budget; and, where tokens are asked for, some are reached.
  bool keeps(const WhatIfQuestion& q) const;
  /// True if time and price of 90 % keep them, of a run that works.
  bool keeps_surely(const WhatIfQuestion& q) const;
};

/// An instance type among those asked for (planner/cost/instance_comparison.h).
struct InstanceStanding {
  std::string instance, family;
  int point = -1;       ///< index of the cluster that represents it
  double cheapest = 0;  ///< probability that its tokens are the cheapest of the types with a price
  std::optional<topology::Price> price;  ///< of a node, of the kind asked for
  std::vector<topology::Price> others;   ///< of the kinds not asked for, the latest of each
  /// USD per node and hour at which its tokens cost as much as those of `against`, the cheapest other type;
  /// absent if no other has a price.
  std::optional<double> break_even;
  std::string against;
};

/// A change of the question with which a cluster keeps the limits more probably.
struct WhatHelps {
  std::string option;  ///< of the command, with its value
  std::string instance;
  int nodes = 0;
  double probability = 0;  ///< that the run works and keeps the limits then
  Seconds time{};          ///< of the run, at the median
  std::optional<double> usd;
};

struct WhatIfResult {
  std::vector<WhatIfPoint> points;          ///< by instance, then nodes, as asked
  std::vector<InstanceStanding> standings;  ///< of the types that have a plan
  /// Reasons for the recommended cluster, in two sentences; "" without one.
  std::string because;
  int recommended = -1;  ///< index, -1 = none
  std::string reason;    ///< reason for this choice, or for the lack of one
  /// Index of the cluster to take instead to keep the limits with 90 %, if the recommended one does not; -1 =
  /// none.
  int surer = -1;
  /// The smallest larger cluster that keeps the limits, without a recommendation and if nodes are missing.
  /// Beyond 32 nodes it is found to a sixteenth of the distance to the last that does not keep them.
  std::optional<WhatIfPoint> would_do;
  /// The point that gets farthest within deadline and budget, without a recommendation and if tokens are
  /// stated; `run` has its tokens.
  std::optional<WhatIfPoint> reaches;
  /// Index of the cluster that is most likely to keep the limits, or to work, if none is recommended (-1 = none),
  /// and what would help (planner/cost/remedies.h).
  int likeliest = -1;
  std::vector<WhatHelps> helps;
};

/// The choice that the question asks for, never `fitting`.
[[nodiscard]] Preference preference_of(const WhatIfQuestion& q);
/// True if `a` is preferred to `b`, of two that keep the limits.
[[nodiscard]] bool preferred(const WhatIfPoint& a, const WhatIfPoint& b, const WhatIfQuestion& q);

using SearchFunction =
    std::function<SearchResult(const models::Job&, const models::Profile&, const SearchOptions&)>;

/// Answers `question`. If nodes are solved for, the points are for each type the fewest nodes that keep the
/// limits (with a budget alone the most) and the one of those judged that is preferred; or else the one that is
/// most likely to keep them, and those closest to the limits. Cost: one search and one goodput estimate a
/// point; without a recommendation, up to 22 more clusters of each instance type, of which those are searched
/// that may keep the limits by their bounds (a tenth of a search each). Deterministic. A pinned data-parallel degree is
/// ignored if the nodes are not the job's, since it follows from them.
WhatIfResult whatif(const models::Job& job, const WhatIfQuestion& question, const models::Profile& profile,
                    const Reliability& reliability, const SearchFunction& search = planner::search);

/// One cluster of a question. Cost: a search and a goodput estimate.
[[nodiscard]] WhatIfPoint cluster_point(const models::Job& job, const WhatIfQuestion& question,
                                        const topology::Instance& instance, int nodes,
                                        const models::Profile& profile, const Reliability& reliability,
                                        const SearchFunction& search);

/// Predictions of the parameters for a published uptime.
struct UptimeCheck {
  Seconds step{};
  Bytes checkpoint{};
  GoodputEstimate estimate;
  double implied_rate = 0;  ///< failures per node and day at which the median equals the published uptime
};
/// Checks a published uptime. `job` and `strategy` are those of the published run.
UptimeCheck check_uptime(const PublishedUptime& published, const models::Job& job,
                         const models::Strategy& strategy, const models::Profile& profile,
                         const Reliability& reliability);

/// A published uptime and its prediction.
struct CheckedUptime {
  PublishedUptime published;
  UptimeCheck check;
};

}  // namespace trnplan::planner
