// Failure statistics that are easy to compute by hand.
#pragma once

#include <utility>

#include "planner/cost/reliability.h"

namespace trnplan::planner {

inline Reliability certain(Reliability r,
                           std::initializer_list<std::pair<ReliabilityParameter, double>> medians) {
  for (const auto& [p, median] : medians) r.value(p) = {median, 0, "test"};
  return r;
}

/// Round numbers without a spread: on 10 nodes M = 86400 / (10 x 0.1) = 1 day, a checkpoint of 100 GB at 1
/// GB/s.
inline Reliability round_numbers() {
  using P = ReliabilityParameter;
  return certain({}, {{P::failure_rate, 0.1},
                      {P::detection, 100},
                      {P::replacement, 500},
                      {P::replacement_share, 0.5},
                      {P::restart, 200},
                      {P::manual_response, 7200},
                      {P::manual_share, 0.1},
                      {P::storage_throughput, 1e9},
                      {P::load_ratio, 2},
                      {P::asynchronous_stall, 1}});
}

}  // namespace trnplan::planner
