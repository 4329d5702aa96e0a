// The assertions and askings of scripts for GPUs: of Megatron-LM and TorchTitan. As assertions.h says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/launch/folder/entry_points/assertions.h"

namespace trnplan {

/// Begins as an assertion of the table does. Empty `holds`: only a run shows it.
struct GpuAssertion {
  const char* begins;
  std::function<bool(const Settings&, const Run&)> holds;
};

/// Those of "megatron-lm" and "torchtitan-toml"; none of others.
const std::vector<GpuAssertion>& gpu_assertions_of(const std::string& entry);

Settings asked_of_megatron(const EntryPoint& entry, const Run& run, const std::string& recipe);
Settings asked_of_torchtitan(const EntryPoint& entry, const Run& run, const std::string& recipe);

/// A TOML as words of TorchTitan's command line, without those keys that the command line itself gives.
std::vector<std::string> with_toml(const std::string& toml, const std::vector<std::string>& command_line);

}  // namespace trnplan
