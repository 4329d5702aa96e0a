// Check of the nodes of a Slurm partition against the needs of a plan.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// Checks that sbatch is present, and asks sinfo for the nodes: reports too few that take jobs, or another
/// instance type. Requires: a plan.
void check_partition(const CheckedFolder& checked);

}  // namespace trnplan::launch
