// The distribution of layers over pipeline stages that makes a step fastest.
//
// Three methods, each starting from the result of the one before: add layers one by one to the stage with the
// least to do; minimise a bound by dynamic programming over the stages; move single layers while the time
// decreases.
#pragma once

#include <functional>
#include <vector>

#include "models/step/pipeline_time.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Costs of layers by stage, for a step with messages that are meetings of both their stages.
struct LayerCosts {
  std::vector<SimTime> before, after;      ///< way up and down through the stages below, without layers
  SimTime up, down;                        ///< of one layer
  std::vector<std::vector<SimTime>> body;  ///< [stage][layers >= 1]: all micro-batches
  std::function<SimTime(int stage, int layers)> finish;  ///< reduction, barrier and update
  std::vector<int> most;                                 ///< layers that a stage may hold, each at least 1
  int layers = 0;
};

/// Cost of a stage that holds so many layers.
using CostOfStage = std::function<const StageCost&(int stage, int layers)>;

/// Adds layers one by one to the stage with the least to do that has room: no distribution has a shorter
/// busiest stage. Empty when the layers do not fit. Cost: O(layers * stages).
std::vector<int> level_split(const LayerCosts& costs);

/// The split with the smallest bound, if that is below `known`, which is set to it; else empty. The bound is
/// never above step_bound() of that split and may be below it, because the drain is that of stage 0. Among
/// equals, each stage is as close to the even share as possible. Cost: O(stages * layers * choices), times
/// the choices of the first stage.
std::vector<int> smallest_bound_split(const LayerCosts& costs, SimTime& known);

/// Makes the best move of one layer, again and again, while pipeline_time() of `costs`, those of `layers`, falls
/// below `time`, which is set to it. Moves that bounds rule out are not timed. Cost: O(stages^2) steps a round.
void move_layers(const CostOfStage& stage, StepCosts costs, const std::vector<int>& most,
                 std::vector<int>& layers, SimTime& time);

}  // namespace trnplan::models
