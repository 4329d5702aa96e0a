// The file of measuring times: catalog/measuring.json.
#pragma once

#include "planner/confidence/experiment.h"
#include "planner/cost/reliability.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the times. `compile` and `nccom_test` are required, with median, log_sd, unit "s" and source;
/// `start` is the medians' `restart` of `reliability`. Throws InputError with all faults.
planner::MeasuringTimes measuring_from(const Node& node, const planner::Reliability& reliability);

}  // namespace trnplan::io
