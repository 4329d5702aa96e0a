// Points of a what-if question: the best plan of one cluster, and its whole run.
#pragma once

#include <optional>

#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Parts of a point that are wanted. `keeping`: only whether it keeps the limits, so that a cluster whose
/// bounds rule that out is not searched; `plan`: as `keeping`, but searched in any case; `all`: also the
/// reason if there is no plan.
enum class Wanted { all, plan, keeping };

/// Keeps references to its members, which outlive it.
struct ClusterPoints {
  const models::Job& job;
  const WhatIfQuestion& q;
  const models::Profile& profile;
  const Reliability& reliability;
  const SearchFunction& search;
  int threads = 0;  ///< of one search, 0: as many as the machine has cores

  /// The job on one cluster; nullopt if weak scaling asks for a part of a sequence.
  [[nodiscard]] std::optional<models::Job> job_at(const topology::Instance& instance, int nodes) const;
  [[nodiscard]] RunTerms terms() const;
  /// `within`: no plan is wanted whose run takes longer at the median. Cost: a search and a goodput estimate;
  /// with Wanted::keeping or `within` a tenth of that where bounds rule it out.
  [[nodiscard]] WhatIfPoint at(const topology::Instance& instance, int nodes, Wanted wanted,
                               Seconds within = Seconds(kInfinity)) const;
};

}  // namespace trnplan::planner
