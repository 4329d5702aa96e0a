// Finds the best strategies of a job.
//
// Order of work: enumerate, rules, replica groups, memory, lower bound (planner/search/candidates.h). Then,
// lowest bound first, cuts are chosen and strategies simulated until no bound can beat the K best found;
// likewise within each of the most promising layouts. The ranking equals that of simulating everything
// (tests/planner/search/search_test.cpp), because the bound is never above the simulated time. The result is
// the same for any number of threads: results count in the order of their bounds.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "planner/search/advisor.h"

namespace trnplan::planner {

struct SearchProgress {
  int simulated = 0;
  int open = 0;                 ///< strategies that may still win, by their bounds
  std::optional<Seconds> best;  ///< of the step
  Seconds bound{};              ///< no open strategy's step is faster
};

struct SearchOptions {
  int top = 5;                  ///< plans to rank
  int layouts = 4;              ///< layouts (TP, PP, CP, DP) that are shown with their best plan
  bool allow_doubtful = false;  ///< also strategies with doubtful replica groups
  /// False: SearchResult has no refused, no doubtful ones and no reasons. If one plan is asked for, only the
  /// recommended one then knows the slow state of its network.
  bool explain = true;
  bool why_nothing = true;  ///< false: SearchResult has no reasons even where there is no plan
  /// Plans with fewer tokens a second are of no use. If bounds show that no plan has as many, nothing is
  /// searched; otherwise nothing is left out.
  double least_tokens_per_second = 0;
  double fit_probability = 0.9;  ///< least probability that a plan fits (models/memory/fit_probability.h)
  /// Target of the plan: its rules hold, and strategies that it cannot express are left out, unless it can
  /// express none; null: neither.
  const Target* target = nullptr;
  const Advisor* advisor = nullptr;  ///< chooses the recommended plan; null: the fastest
  int threads = 0;                   ///< 0: as many as the machine has cores
  /// Limit of the wall-clock time of the whole search, from `since` on (absent: from the call on); 0: none.
  /// After it the best plan so far is returned, as soon as there is one. The result depends on the machine.
  Seconds time_limit{};
  std::optional<std::chrono::steady_clock::time_point> since;
  const std::atomic<bool>* stop = nullptr;  ///< may be null; once true the best so far is returned
  std::function<void(const SearchProgress&)> progress;  ///< called by the caller's thread, often
};

/// enumerated = refused + too_large + bounded + simulated.
struct SpaceCounts {
  int enumerated = 0, refused = 0, too_large = 0, bounded = 0, simulated = 0;
  int inexpressible = 0;  ///< not enumerated, because the target cannot express them
};

/// Number of strategies that broke a rule first, with one of them as an example.
struct RuleCount {
  int strategies = 0;
  models::Strategy example;
  Violation why;
};

/// Reasons for finding nothing, and remedies.
struct Infeasible {
  std::vector<RuleCount> rules;             ///< most frequent first; memory is not among them
  std::optional<models::Strategy> closest;  ///< with the smallest shortfall of memory, legal or doubtful
  std::optional<models::Memory> memory;     ///< its memory
  int nodes_that_would_do = 0;  ///< 0 = none up to 1,875 nodes (30,000 chips), or nodes do not help
  /// Fewest nodes whose run works and keeps the limits of the run with that probability, as whatif solves for
  /// them; 0: none was found. Set by a caller that forecasts runs; absent: not asked for.
  std::optional<int> nodes_in_limits;
  double probability_in_limits = 0;
  int nearest_batch = 0;         ///< global batch nearest to the user's that some layout divides; 0 = no help
  std::optional<Plan> too_slow;  ///< the fastest, if the deadline refuses all
  /// The cheapest, if it too exceeds the budget, or no plan keeps both limits.
  std::optional<Plan> too_expensive;
};

/// True if the fault of a batch is that it is no multiple of the nodes, as the nearest with a plan is.
[[nodiscard]] inline bool needs_even_batch(const Infeasible& why, int batch, int nodes) {
  return why.nearest_batch > 0 && batch % nodes != 0 && why.nearest_batch % nodes == 0;
}

/// Resources and changes that would make a plan faster. First-order estimates where stated; all else stays
/// the same.
struct Sensitivity {
  models::Resource resource = models::Resource::count;  ///< the one that the step depends on most
  double elasticity = 0;                                ///< of the step to it
  std::optional<Plan> with_more_memory;                 ///< a faster plan if a core had 1 GiB more
  Seconds with_twice_the_nics{};                        ///< its step; zero on one node or without NICs
  Seconds with_faster_kernels{};  ///< its step with tensor-engine efficiencies 10 % higher
};

/// The plan that is recommended on one of several clusters: that of a search of this cluster alone.
struct ClusterPlan {
  Plan plan;
  bool on_front = false;       ///< no other has fewer days, dollars and nodes
  bool beyond_target = false;  ///< SearchResult::beyond_target of a search of this cluster alone
  /// Some plan of this cluster keeps the job's deadline and budget, and so this one does. Otherwise the plan is that
  /// of a search without them.
  bool within_limits = true;
};
/// Sets on_front of each.
void mark_front(std::vector<ClusterPlan>& clusters);

struct SearchResult {
  SpaceCounts counts;
  /// The fastest first; ties in canonical order. One more than was asked for if the recommended plan is not
  /// among them.
  std::vector<Plan> plans;
  std::size_t recommended = 0;        ///< among `plans`
  std::vector<Plan> layouts;          ///< the best plans of different layouts, best first
  std::vector<ClusterPlan> clusters;  ///< if nodes or instance are free: one of each cluster with a plan
  /// Near misses: refused strategies with a bound that beats the winner, or any if there is no winner. Those
  /// that break a rule first, then those that are too large, the nearest miss first.
  std::vector<Refusal> refused;
  std::vector<Refusal> doubtful;           ///< likewise, with doubtful replica groups; fastest first
  std::optional<Infeasible> infeasible;    ///< if `plans` is empty
  std::optional<Sensitivity> sensitivity;  ///< of the recommended plan, if asked for
  /// The target can express no strategy of some cluster; that cluster's strategies are then all included.
  bool beyond_target = false;
  bool complete = true;  ///< false: stopped before the winner was proven
  /// Most by which a winner that is not proven is above the best possible, as a fraction.
  double gap = 0;
  std::vector<std::string> cut_short;  ///< parts that the time limit left undone, in words

  /// The recommended plan; null if there are no plans.
  [[nodiscard]] const Plan* recommended_plan() const { return plans.empty() ? nullptr : &plans[recommended]; }
};

/// False if no plan of the job's cluster has options.least_tokens_per_second, by bounds alone; true is no
/// guarantee. Cost: a tenth of a search where false.
[[nodiscard]] bool may_reach(const models::Job& job, const models::Profile& profile,
                             const SearchOptions& options);

/// Searches by the job's objective: seconds per token, USD per token, or the smallest cluster that keeps the
/// deadline, then seconds. The job's deadline and budget, if any, refuse plans that miss them. Deterministic
/// without a time limit: same job, profile and options, same result. Cost: microseconds per strategy,
/// milliseconds per simulation (bench/plan_bench.cpp).
SearchResult search(const models::Job& job, const models::Profile& profile,
                    const SearchOptions& options = {});

}  // namespace trnplan::planner
