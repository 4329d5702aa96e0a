// Assertions of the two NxD programs that train Llama about their flags before the first step.
#pragma once

#include <string_view>
#include <vector>

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// Rules and keys of kTensorScript or kPipelineScript. The keys are the flags that decide the prediction, with
/// the program's own defaults.
[[nodiscard]] const StartTable& nxd_start_table(std::string_view program);
/// Faults of a script that the program refuses. Throws InputError if the script starts neither of them.
[[nodiscard]] std::vector<planner::StartFault> nxd_start_faults(const planner::ConfigFile& file,
                                                                const topology::Cluster& cluster);

}  // namespace trnplan::targets
