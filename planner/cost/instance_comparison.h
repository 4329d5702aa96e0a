// Instance types against each other: how surely each is the cheapest, and what a node may cost for it to be.
//
// A type is stood for by one of its clusters: of those that keep the limits the best by the preference, else the
// fastest. Its dollars are log-normal around the median with the widths of its run (planner/cost/run_forecast.h).
// Types of one family are timed with the same parameters, so all but `kOwnLogSd` of their spread is common to
// them; those of different families are drawn apart. What every machine shares, failures and the file system
// above all, is drawn apart too, which makes the ranking look less sure than it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/cost/whatif.h"

namespace trnplan::planner {

/// Log-sd of what two types with the same parameters do not have in common: configuration_spread of the profiles,
/// 0.06 to 0.1.
inline constexpr double kOwnLogSd = 0.08;

/// Of each type with a plan one entry, in the order of the question. Cost: some thousand draws a type; the result is
/// deterministic.
[[nodiscard]] std::vector<InstanceStanding> standings(const std::vector<WhatIfPoint>& points,
                                                      const WhatIfQuestion& question);

/// Why the recommended cluster, in two sentences; "" where none is.
[[nodiscard]] std::string because(const WhatIfResult& result, const WhatIfQuestion& question);

/// Dollars of 10^9 tokens; nullopt without a price.
[[nodiscard]] std::optional<double> usd_per_gigatoken(const RunAnswer& run, double tokens);

}  // namespace trnplan::planner
