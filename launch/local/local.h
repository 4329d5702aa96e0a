// Runs on this node without a scheduler: a smoke test of a few steps.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "local": runs node_run.sh to its end and keeps no record.
const Scheduler& local();

}  // namespace trnplan::launch
