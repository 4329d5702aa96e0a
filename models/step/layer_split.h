// Sharing layers out over pipeline stages so that a step is fastest.
//
// Three ways, each from where the one before has come: layers one by one to the stage with the least to do;
// the smallest of a bound by dynamic programming over the stages; moves of single layers while
// the time gets smaller.
#pragma once

#include <functional>
#include <vector>

#include "models/step/pipeline_time.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// What layers cost, by stage, of a step whose messages are meetings of both their stages.
struct LayerCosts {
  std::vector<SimTime> before, after;  ///< on the way up and down to a stage: stages below, without layers
  SimTime up, down;                    ///< of a layer
  std::vector<std::vector<SimTime>> body;                ///< [stage][layers >= 1]: all micro-batches
  std::function<SimTime(int stage, int layers)> finish;  ///< reduction, barrier and update
  std::vector<int> most;                                 ///< that a stage may hold, each at least 1
  int layers = 0;
};

/// A whole step with these layers in its stages.
using CostsOfLayers = std::function<StepCosts(const std::vector<int>& layers)>;

/// Layers go one by one to the stage with the least to do that has room: no way has a shorter busiest stage.
/// Empty when the layers do not fit in. Cost: O(layers * stages).
std::vector<int> level_split(const LayerCosts& costs);

/// The split whose bound is the smallest, when that is below `known`, which becomes it; else empty. The bound
/// is never above step_bound() of that split and may be below it: the drain is that of stage 0. Among equals
/// each stage is next to the even share. Cost: O(stages * layers * choices), times the choices of the first
/// stage.
std::vector<int> smallest_bound_split(const LayerCosts& costs, SimTime& known);

/// The best of all ways to move one layer, again and again, while pipeline_time() falls below `time`, which
/// becomes it. What bounds rule out is not timed. Cost: O(stages^2) steps a round.
void move_layers(const CostsOfLayers& step, const std::vector<int>& most, std::vector<int>& layers,
                 SimTime& time);

}  // namespace trnplan::models
