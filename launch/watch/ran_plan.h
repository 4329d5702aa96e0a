// The plan that a watched run follows.
#pragma once

#include <optional>

#include "models/job/job.h"
#include "models/job/strategy.h"

namespace trnplan::launch {

/// The plan that ran when the log was written.
struct RanPlan {
  models::Job job;
  std::optional<models::Strategy> strategy;
  bool assumed = false;         ///< what ran is unknown: a job is assumed so that a plan can be named
  bool machine_stated = false;  ///< the machine of an assumed job is not assumed
};

}  // namespace trnplan::launch
