// What pretrain_gpt.py asserts of its arguments and environment before the first step.
#pragma once

#include "targets/start/start_rules.h"

namespace trnplan::targets {

/// The variable of the environment stands among the settings by this name.
inline constexpr const char* kMaxConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

[[nodiscard]] const std::vector<StartKey>& megatron_start_keys();
[[nodiscard]] const StartTable& megatron_start_table();

/// What it refuses of a script or a file of its arguments.
[[nodiscard]] std::vector<planner::StartFault> megatron_start_faults(const planner::ConfigFile& file,
                                                                     const topology::Cluster& cluster);
/// What of that is refused of a recipe for the same loop too, since no run could be described: degrees, batches and layers
/// that do not go together. `stated`: by flag.
[[nodiscard]] std::vector<Diagnostic> megatron_contradictions(StatedByName stated, std::int64_t ranks,
                                                              const std::string& file);
/// The flag that a rule of strategies is about.
[[nodiscard]] planner::KeyPlace megatron_place_of(const planner::ConfigFile& file, std::string_view rule);

}  // namespace trnplan::targets
