// The file of measuring times: catalog/measuring.json.
#pragma once

#include "calibrate/fit/machine_fit.h"
#include "planner/confidence/experiment.h"
#include "planner/cost/reliability.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the times. `compile` and `nccom_test` are required, with median, log_sd, unit "s" and source;
/// `start` is the medians' `restart` of `reliability`. Throws InputError with all faults.
planner::MeasuringTimes measuring_from(const Node& node, const planner::Reliability& reliability);

/// Uncertainty of a measured all-reduce: log-sd.
struct NetworkSpreads {
  double repeat = 0;        ///< of one measurement against another in the same state of the network
  double per_doubling = 0;  ///< for each doubling of nodes between the measured and others
};
/// Reads them: `network` of the same file, with `repeat` and `per_doubling`. Throws InputError with all
/// faults.
NetworkSpreads network_spreads_from(const Node& node);

/// Spreads of kernels and collectives that were timed on a machine: `machine` of the same file, and of `network`
/// those of collectives. Throws InputError with all faults.
calibrate::MachineSpreads machine_spreads_from(const Node& node);

}  // namespace trnplan::io
