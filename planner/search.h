// Finds the fastest strategies of a job.
//
// Order of work: enumerate, rules, replica groups, memory, lower bound, then simulation best bound first
// until no bound can beat the K best found; likewise within each of the most promising layouts. The ranking
// equals that of simulating everything (tests/planner/search_test.cpp), because the bound is never above the
// simulated time.
#pragma once

#include <optional>
#include <vector>

#include "models/job.h"
#include "models/profile.h"
#include "planner/plan.h"

namespace trnplan::planner {

struct SearchOptions {
  int top = 5;                  ///< plans to rank
  int layouts = 6;              ///< layouts (TP, PP, CP, DP) of which the best plan is shown
  bool allow_doubtful = false;  ///< also strategies whose replica groups are doubtful
};

/// enumerated = refused + too_large + bounded + simulated.
struct SpaceCounts {
  int enumerated = 0, refused = 0, too_large = 0, bounded = 0, simulated = 0;
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
  int nodes_that_would_do = 0;  ///< 0 = none up to 1,875 nodes (30,000 chips), or nodes are not the problem
  int nearest_batch = 0;        ///< global batch nearest to the user's that some layout divides; 0 = no help
};

struct SearchResult {
  SpaceCounts counts;
  std::vector<Plan> plans;    ///< best first; ties in canonical order
  std::vector<Plan> layouts;  ///< the best plan of each of the layouts with the best bounds, best first
  /// The tempting ones: their bound beats the winner, or there is no winner. Those that break a rule first,
  /// then those that are too large, the nearest miss first.
  std::vector<Refusal> refused;
  std::vector<Refusal> doubtful;         ///< likewise, whose replica groups are doubtful; fastest first
  std::optional<Infeasible> infeasible;  ///< when plans is empty
};

/// Deterministic: same job, profile and options, same result. Cost: a few milliseconds per legal strategy
/// that fits, more on clusters of hundreds of nodes (bench/plan_bench.cpp).
SearchResult search(const models::Job& job, const models::Profile& profile,
                    const SearchOptions& options = {});

}  // namespace trnplan::planner
