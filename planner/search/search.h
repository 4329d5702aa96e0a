// Finds the best strategies of a job.
//
// Order of work: enumerate, rules, replica groups, memory, lower bound (planner/search/candidates.h); then,
// lowest bound first, the pipeline cuts are chosen, and simulation, until no bound can beat the K best found;
// likewise within each of the most promising layouts. The ranking equals that of simulating everything
// (tests/planner/search/search_test.cpp), because the bound is never above the simulated time. The result is
// the same whatever the number of threads: results count in the order of their bounds.
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
  int open = 0;                 ///< strategies whose bound may still win
  std::optional<Seconds> best;  ///< of the step
  Seconds bound{};              ///< no open strategy's step is faster
};

struct SearchOptions {
  int top = 5;                  ///< plans to rank
  int layouts = 4;              ///< layouts (TP, PP, CP, DP) of which the best plan is shown
  bool allow_doubtful = false;  ///< also strategies whose replica groups are doubtful
  bool explain = true;          ///< false: SearchResult has no refused, no doubtful ones and no reasons
  bool why_nothing = true;      ///< false: SearchResult has no reasons even where there is no plan
  /// Plans with fewer tokens a second are of no use: where bounds say that there is none with as many, nothing is
  /// searched. Otherwise nothing is left out.
  double least_tokens_per_second = 0;
  double fit_probability = 0.9;  ///< a plan fits at least so surely (models/memory/fit_probability.h)
  /// Its rules hold, and strategies that it cannot express are left out, unless it can express none; null:
  /// neither.
  const Target* target = nullptr;
  const Advisor* advisor = nullptr;  ///< chooses what is recommended; null: the fastest is
  int threads = 0;                   ///< 0: as many as the machine has cores
  /// Wall-clock, of everything, from `since` on (absent: from the call on); 0: none. Then the best so far is
  /// returned, as soon as there is one. The result depends on the machine.
  Seconds time_limit{};
  std::optional<std::chrono::steady_clock::time_point> since;
  const std::atomic<bool>* stop = nullptr;  ///< may be null; once true the best so far is returned
  std::function<void(const SearchProgress&)> progress;  ///< called by the caller's thread, often
};

/// enumerated = refused + too_large + bounded + simulated.
struct SpaceCounts {
  int enumerated = 0, refused = 0, too_large = 0, bounded = 0, simulated = 0;
  int inexpressible = 0;  ///< not enumerated, because the target cannot say them
};

/// How many strategies broke a rule first, with one of them as an example.
struct RuleCount {
  int strategies = 0;
  models::Strategy example;
  Violation why;
};

/// Why nothing was found, and what would help.
struct Infeasible {
  std::vector<RuleCount> rules;             ///< most frequent first; memory is not among them
  std::optional<models::Strategy> closest;  ///< with the smallest shortfall of memory, legal or doubtful
  std::optional<models::Memory> memory;     ///< its memory
  int nodes_that_would_do = 0;   ///< 0 = none up to 1,875 nodes (30,000 chips), or nodes are not the problem
  int nearest_batch = 0;         ///< global batch nearest to the user's that some layout divides; 0 = no help
  std::optional<Plan> too_slow;  ///< the fastest, when the deadline is what refuses all
  std::optional<Plan> too_expensive;  ///< the cheapest, when even it breaks the budget; or no plan keeps both
};

/// What holds a plan back. First order where it says so; nothing else changes.
struct Sensitivity {
  models::Resource resource = models::Resource::count;  ///< that the step depends on most
  double elasticity = 0;                                ///< of the step to it
  std::optional<Plan> with_more_memory;                 ///< a faster plan if a core had 1 GiB more
  Seconds with_twice_the_nics{};                        ///< its step; zero on one node or without NICs
  Seconds with_faster_kernels{};  ///< its step with tensor-engine efficiencies 10 % higher
};

/// The best plan of one of several clusters.
struct ClusterPlan {
  Plan plan;
  bool on_front = false;  ///< no other has fewer days, dollars and nodes
};

struct SearchResult {
  SpaceCounts counts;
  /// The fastest first; ties in canonical order. One more than were asked for where the recommended plan is not among
  /// them.
  std::vector<Plan> plans;
  std::size_t recommended = 0;        ///< among `plans`
  std::vector<Plan> layouts;          ///< the best plans of different layouts, best first
  std::vector<ClusterPlan> clusters;  ///< where nodes or instance are free: the best of each
  /// The near-miss ones: their bound beats the winner, or there is no winner. Those that break a rule first,
  /// then those that are too large, the nearest miss first.
  std::vector<Refusal> refused;
  std::vector<Refusal> doubtful;           ///< likewise, whose replica groups are doubtful; fastest first
  std::optional<Infeasible> infeasible;    ///< when plans is empty
  std::optional<Sensitivity> sensitivity;  ///< of the recommended plan, where that was asked for
  bool beyond_target =
      false;             ///< the target can say no strategy of some cluster: those there are all strategies
  bool complete = true;  ///< false: stopped before the winner was proven
  double gap = 0;        ///< then: the winner is at most this fraction above the best there can be
  std::vector<std::string> cut_short;  ///< what the time limit left undone, in words

  /// nullptr without plans.
  [[nodiscard]] const Plan* recommended_plan() const { return plans.empty() ? nullptr : &plans[recommended]; }
};

/// False where no plan of the job's cluster has options.least_tokens_per_second, by bounds alone: true is no promise. Cost:
/// a tenth of a search where false.
[[nodiscard]] bool may_reach(const models::Job& job, const models::Profile& profile,
                             const SearchOptions& options);

/// By the job's objective: seconds per token, USD per token, or the smallest cluster that makes the deadline,
/// then seconds. Deadline and budget, where the job has them, refuse what misses them.
/// Deterministic without a time limit: same job, profile and options, same result. Cost: microseconds per
/// strategy, milliseconds per simulation (bench/plan_bench.cpp).
SearchResult search(const models::Job& job, const models::Profile& profile,
                    const SearchOptions& options = {});

}  // namespace trnplan::planner
