// What neuronx-nemo-megatron asserts of its settings before the first step.
#pragma once

#include <vector>

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// What a script overrides, by "section.key". Throws InputError where it does not start the program.
[[nodiscard]] StatedByName nemo_stated(const planner::ConfigFile& file);
/// Its keys are those that decide what is predicted, with the values of the base config that is named.
[[nodiscard]] const StartTable& nemo_start_table(const StatedByName& stated);
/// What the program refuses of a script that starts it.
[[nodiscard]] std::vector<planner::StartFault> nemo_start_faults(const planner::ConfigFile& file,
                                                                 const topology::Cluster& cluster);

}  // namespace trnplan::targets
