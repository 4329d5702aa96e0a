// Comparison of instance types: the probability that each is the cheapest, and the price of a node at which
// it would be.
//
// Each type is represented by one of its clusters: the best by the preference among those that keep the
// limits, else the fastest. Its cost is log-normal around the median with the widths of its run
// (planner/cost/run_forecast.h). Types of one family are timed with the same parameters, so all but
// `kOwnLogSd` of their spread is common to them. Those of different families are drawn independently. So are
// common causes, failures and the file system above all, which makes the ranking look less sure than it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Log-sd of the part of the spread that two types with the same parameters do not share:
/// configuration_spread of the profiles, 0.06 to 0.1.
inline constexpr double kOwnLogSd = 0.08;
/// Draws of InstanceStanding::cheapest, and their seed.
inline constexpr int kStandingDraws = 4000;
inline constexpr std::uint64_t kStandingSeed = 1;

/// One entry for each type with a plan, in the order of the question. Cost: some thousand draws a type; the
/// result is deterministic.
[[nodiscard]] std::vector<InstanceStanding> standings(const std::vector<WhatIfPoint>& points,
                                                      const WhatIfQuestion& question);

/// The reasons for the recommended cluster, in two sentences; "" if there is none.
[[nodiscard]] std::string because(const WhatIfResult& result, const WhatIfQuestion& question);

/// USD per billion tokens; nullopt without a price.
[[nodiscard]] std::optional<double> usd_per_gigatoken(const RunAnswer& run, double tokens);

}  // namespace trnplan::planner
