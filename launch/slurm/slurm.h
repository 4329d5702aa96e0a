// Slurm, on ParallelCluster, HyperPod or your own cluster: sbatch compiles, then trains.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "slurm". A job's name before its submission, and its id after it, are written into launch.json, so that a
/// second call submits nothing twice, whether it runs at the same time or after the first one died. If
/// training is refused, the compile job is cancelled and launch.json removed.
const Scheduler& slurm();

}  // namespace trnplan::launch
