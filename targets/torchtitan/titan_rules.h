// What TorchTitan asserts of its job config before the first step.
#pragma once

#include "targets/start/start_rules.h"

namespace trnplan::targets {

inline constexpr const char* kTitanJobConfig = "pytorch/torchtitan@v0.2.2:torchtitan/config/job_config.py";

/// What its job config asserts of the settings, in the order of its sections.
[[nodiscard]] const std::vector<StartRule>& titan_start_rules();
/// Settings by "section.key".
[[nodiscard]] const StartTable& titan_start_table();
/// What it refuses of a TOML, or of the module of a plan's folder.
[[nodiscard]] std::vector<planner::StartFault> titan_start_faults(const planner::ConfigFile& file,
                                                                  const topology::Cluster& cluster);
/// The key that a rule of strategies is about.
[[nodiscard]] planner::KeyPlace titan_place_of(const planner::ConfigFile& file, std::string_view rule);

}  // namespace trnplan::targets
