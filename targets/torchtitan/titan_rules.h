// Assertions of TorchTitan on its job config before the first step.
#pragma once

#include "targets/start/start_rules.h"

namespace trnplan::targets {

inline constexpr const char* kTitanJobConfig = "pytorch/torchtitan@v0.2.2:torchtitan/config/job_config.py";

/// Assertions on the settings, in the order of the job config's sections.
[[nodiscard]] const std::vector<StartRule>& titan_start_rules();
/// Settings by "section.key".
[[nodiscard]] const StartTable& titan_start_table();
/// Faults for which TorchTitan refuses a TOML, or the module of a plan's folder.
[[nodiscard]] std::vector<planner::StartFault> titan_start_faults(const planner::ConfigFile& file,
                                                                  const topology::Cluster& cluster);
/// Place of the key that a rule of strategies is about.
[[nodiscard]] planner::KeyPlace titan_place_of(const planner::ConfigFile& file, std::string_view rule);

}  // namespace trnplan::targets
