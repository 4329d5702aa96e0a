// On how many nodes a script starts its ranks.
#pragma once

#include <optional>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// What the script's launch line, or an array of its words, gives torchrun as --nnodes, its variables followed
/// (targets/flags/shell_follower.h); else what the script asks Slurm for (#SBATCH --nodes, -N). nullopt where it says
/// neither, or what the run alone knows. Throws InputError as follow_shell() does. Cost: linear in the text.
[[nodiscard]] std::optional<int> launched_nodes(const planner::ConfigFile& file);

}  // namespace trnplan::targets
