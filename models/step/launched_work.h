// The host's launches against the work that they start.
#pragma once

#include <utility>

#include "models/device/device.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Operators that state the host's time (Operator::host), one after the other.
class LaunchedWork {
 public:
  /// Excess of `host` over the work since the last call (beyond_busy); `busy` is all work until now.
  Seconds beyond(SimTime busy, Seconds host) {
    return beyond_busy(to_seconds(busy - std::exchange(launched_, busy)), host);
  }

 private:
  SimTime launched_;
};

}  // namespace trnplan::models
