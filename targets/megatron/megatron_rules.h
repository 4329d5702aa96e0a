// Assertions of pretrain_gpt.py about its arguments and environment before the first step.
#pragma once

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// Name among the settings of a variable of the environment.
inline constexpr const char* kMaxConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

/// Keys that a prediction is made from.
[[nodiscard]] const std::vector<StartKey>& megatron_deciding_keys();
/// Those keys and the others that the rules ask for.
[[nodiscard]] const std::vector<StartKey>& megatron_start_keys();
[[nodiscard]] const StartTable& megatron_start_table();

/// Faults of a script, or of a file of arguments, that the program refuses.
[[nodiscard]] std::vector<planner::StartFault> megatron_start_faults(const planner::ConfigFile& file,
                                                                     const topology::Cluster& cluster);
/// Flag that a rule of strategies is about.
[[nodiscard]] planner::KeyPlace megatron_place_of(const planner::ConfigFile& file, std::string_view rule);

/// Version of Megatron-LM whose flags are known.
inline constexpr const char* kFlagsOf = "NVIDIA/Megatron-LM@d98e8a6";
/// True for a name such as "--seq-length" that its pretrain_gpt.py takes.
[[nodiscard]] bool is_megatron_flag(const std::string& name);

}  // namespace trnplan::targets
