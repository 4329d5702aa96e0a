// The assertions and askings of scripts for GPUs: of Megatron-LM and TorchTitan. As assertions.h says.
#pragma once

#include <string>
#include <vector>

#include "targets/start/start_rules.h"
#include "tests/launch/folder/entry_points/assertions.h"

namespace trnplan {

/// Begins as an assertion of the table does, and which rules of the target say it.
struct GpuAssertion {
  const char* begins;
  std::vector<std::string> rules;
};

/// Those of "megatron-lm" and "torchtitan-toml"; none of others.
const std::vector<GpuAssertion>& gpu_assertions_of(const std::string& entry);

/// The target's rules, and what settings of the script break of them.
const targets::StartTable& start_table_of(const std::string& entry);
std::vector<planner::StartFault> start_faults_of(const std::string& entry, const Settings& settings,
                                                 const Run& run);

Settings asked_of_megatron(const EntryPoint& entry, const Run& run, const std::string& recipe);
Settings asked_of_torchtitan(const EntryPoint& entry, const Run& run, const std::string& recipe);

/// A TOML as words of TorchTitan's command line, without those keys that the command line itself gives.
std::vector<std::string> with_toml(const std::string& toml, const std::vector<std::string>& command_line);

}  // namespace trnplan
