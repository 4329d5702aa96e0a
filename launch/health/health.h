// Finds nodes that are too slow, by nccom-test on each node alone and on pairs.
//
// A run is slow if its time is above kSlowRun times the smaller of two times: the time of the fastest quarter
// of runs of its kind (same numbers of nodes and ranks, same size), and the upper end of the predicted 90 %
// interval. The first finds a node among others however wrong the prediction is, the second finds a fabric
// that is slow everywhere. Of several sizes the median counts. A node is named if it is slow alone, or in all
// of its runs with others.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "io/output/health_json.h"
#include "logs/nccom/node_tests.h"
#include "models/collective/collective_timing.h"

namespace trnplan::launch {

/// Our own value: nccom-test's means of 20 runs differ by a few per cent between sound nodes, and watch calls
/// a node that slows a step by a quarter a straggler.
inline constexpr double kSlowRun = 1.25;

/// Seconds of nccom-test, and their 90 % interval, for a run on that many nodes. May throw InputError at
/// `at`.
struct Prediction {
  double seconds = 0;
  std::pair<double, double> seconds_90;
};
using Predict = std::function<Prediction(int nodes, const models::CollectiveRun& run, const SourcePos& at)>;

/// Reason why nothing is known of the nodes of a run; "" if it was read, or failed.
std::string not_understood(const logs::NodeTest& test);

/// Fills all but `instance` and `profile`. Requires: factor >= 1; every run is understood.
io::HealthReport judge_health(const std::vector<logs::NodeTest>& tests, double factor,
                              const Predict& predict);

/// Pairs of nodes, in rounds of disjoint pairs. With three nodes or more, each node meets two others: the
/// pairs are the edges of a ring, every second edge in one round.
std::vector<std::vector<std::pair<int, int>>> pair_rounds(int nodes);

}  // namespace trnplan::launch
