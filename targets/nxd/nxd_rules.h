// What the two programs of NxD that train Llama assert of their flags before the first step.
#pragma once

#include <string_view>
#include <vector>

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// `program`: kTensorScript or kPipelineScript. Its keys are the flags that decide what is predicted, with the program's own values.
[[nodiscard]] const StartTable& nxd_start_table(std::string_view program);
/// What the program refuses of a script that starts it. Throws InputError where the script starts neither.
[[nodiscard]] std::vector<planner::StartFault> nxd_start_faults(const planner::ConfigFile& file,
                                                                const topology::Cluster& cluster);

}  // namespace trnplan::targets
