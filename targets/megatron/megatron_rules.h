// What pretrain_gpt.py asserts of its arguments and environment before the first step.
#pragma once

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// The variable of the environment stands among the settings by this name.
inline constexpr const char* kMaxConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

/// Keys of which a prediction is made.
[[nodiscard]] const std::vector<StartKey>& megatron_deciding_keys();
/// These and the others that it asks for.
[[nodiscard]] const std::vector<StartKey>& megatron_start_keys();
[[nodiscard]] const StartTable& megatron_start_table();

/// What it refuses of a script or a file of its arguments.
[[nodiscard]] std::vector<planner::StartFault> megatron_start_faults(const planner::ConfigFile& file,
                                                                     const topology::Cluster& cluster);
/// The flag that a rule of strategies is about.
[[nodiscard]] planner::KeyPlace megatron_place_of(const planner::ConfigFile& file, std::string_view rule);

}  // namespace trnplan::targets
