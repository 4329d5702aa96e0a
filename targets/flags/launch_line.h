// On how many nodes a script starts its ranks.
#pragma once

#include <optional>
#include <string>

namespace trnplan::targets {

/// What the script's launch line gives torchrun as --nnodes: a number, or a variable that the script itself sets,
/// "${NODES:-16}" with its default; else what the script asks Slurm for (#SBATCH --nodes, -N). nullopt where it says
/// neither. Cost: linear in the text.
[[nodiscard]] std::optional<int> launched_nodes(const std::string& script);

}  // namespace trnplan::targets
