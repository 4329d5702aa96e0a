// Assertions of neuronx-nemo-megatron about its settings before the first step.
#pragma once

#include <vector>

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// Overrides of a script, by "section.key". Throws InputError if it does not start the program.
[[nodiscard]] StatedByName nemo_stated(const planner::ConfigFile& file);
/// Rules and keys. The keys are those that decide the prediction, with the values of the named base config.
[[nodiscard]] const StartTable& nemo_start_table(const StatedByName& stated);
/// Faults of a script that the program refuses.
[[nodiscard]] std::vector<planner::StartFault> nemo_start_faults(const planner::ConfigFile& file,
                                                                 const topology::Cluster& cluster);

}  // namespace trnplan::targets
