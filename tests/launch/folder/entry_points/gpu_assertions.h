// Assertions of the scripts for GPUs, Megatron-LM and TorchTitan, and the settings required by a plan. See
// assertions.h.
#pragma once

#include <string>
#include <vector>

#include "targets/start/start_rules.h"
#include "tests/launch/folder/entry_points/assertions.h"

namespace trnplan {

/// Start of an assertion's text in the table, and the rules of the target that state it.
struct GpuAssertion {
  const char* begins;
  std::vector<std::string> rules;
};

/// Assertions of "megatron-lm" and "torchtitan-toml"; none for other entries.
const std::vector<GpuAssertion>& gpu_assertions_of(const std::string& entry);

/// The target's rules, and the ones that the script's settings break.
const targets::StartTable& start_table_of(const std::string& entry);
std::vector<planner::StartFault> start_faults_of(const std::string& entry, const Settings& settings,
                                                 const Run& run);

Settings asked_of_megatron(const EntryPoint& entry, const Run& run, const std::string& recipe);
Settings asked_of_torchtitan(const EntryPoint& entry, const Run& run, const std::string& recipe);

/// A TOML as words of TorchTitan's command line, without the keys that the command line itself states.
std::vector<std::string> with_toml(const std::string& toml, const std::vector<std::string>& command_line);

}  // namespace trnplan
