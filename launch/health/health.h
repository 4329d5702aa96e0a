// Which nodes are slower than they should be, by nccom-test on each alone and on pairs.
//
// A run is slow when its time is above kSlowRun times the smaller of two times: what the fastest quarter of runs of
// its kind (as many nodes and ranks, the same size) took, and the upper end of the predicted 90 % interval. The
// first finds a node among others whatever the prediction misses, the second a fabric that is slow everywhere. Of
// several sizes the median counts. A node is named when it is slow alone, or in all of its runs with others.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "io/output/health_json.h"
#include "logs/nccom/node_tests.h"
#include "models/collective/collective_timing.h"

namespace trnplan::launch {

/// Ours: nccom-test's means of 20 runs differ by a few per cent between sound nodes; a step that waits for a node
/// that is slower by a quarter is what watch calls a straggler.
inline constexpr double kSlowRun = 1.25;

/// Seconds of nccom-test, and the 90 % interval, of a run on so many nodes. May throw InputError at `at`.
struct Prediction {
  double seconds = 0;
  std::pair<double, double> seconds_90;
};
using Predict = std::function<Prediction(int nodes, const models::CollectiveRun& run, const SourcePos& at)>;

/// Runs whose operation or ranks are not known count as failed. Fills all but `instance` and `profile`. Requires:
/// factor >= 1.
io::HealthReport judge_health(const std::vector<logs::NodeTest>& tests, double factor,
                              const Predict& predict);

/// Pairs of nodes, in rounds of disjoint ones: each node meets two others, where there are three. The edges of a
/// ring, every second one in a round.
std::vector<std::vector<std::pair<int, int>>> pair_rounds(int nodes);

}  // namespace trnplan::launch
