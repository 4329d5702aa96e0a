// Number of nodes on which a script starts its ranks.
#pragma once

#include <optional>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// Number of nodes that a script asks for: --nnodes of torchrun in its launch line or in an array of that
/// line's words, with its variables followed (targets/flags/shell_follower.h); else its request to Slurm
/// (#SBATCH --nodes, -N). nullopt if it states neither, or if the number is known only in the run. Throws
/// InputError as follow_shell() does. Cost: linear in the text.
[[nodiscard]] std::optional<int> launched_nodes(const planner::ConfigFile& file);

}  // namespace trnplan::targets
