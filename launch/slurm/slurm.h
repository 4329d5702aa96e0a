// Slurm, of ParallelCluster, HyperPod or one's own: sbatch compiles, then trains.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "slurm". Before each submission its name, and after it its id, is written into launch.json: a second call,
/// at the same time or after the first one died anywhere, submits nothing twice. When training is refused the
/// compile job is cancelled and launch.json removed.
const Scheduler& slurm();

}  // namespace trnplan::launch
