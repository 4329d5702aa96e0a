// The nodes of a Slurm partition against what a plan needs.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// Asks sbatch whether it is there and sinfo for the nodes: too few that take jobs, or of another instance
/// type. Requires: a plan.
void check_partition(const CheckedFolder& checked);

}  // namespace trnplan::launch
