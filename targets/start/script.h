// Scripts that start a program with flags or overrides.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"
#include "targets/flags/shell_follower.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

struct Script {
  std::string program;  ///< as asked for
  /// Flags ("--lr"), overrides ("model.num_layers") and variables that are set ("NEURON_FUSE_SOFTMAX"), by
  /// name with their values.
  StatedByName stated;
};

/// Flags among words ("--lr 1", "--lr=1", "--fast") with their values, and with `overrides` also
/// "name=value". The last one counts if a name is repeated.
[[nodiscard]] StatedByName settings_in(const std::string& file, std::span<const ShellWord> words,
                                       bool overrides);

/// Variables with which a script is started: those that the file's caller states and, if the number of hosts
/// is known, the names that schedulers and examples use for it.
[[nodiscard]] ShellEnvironment environment_of(const planner::ConfigFile& file);

/// Commands that start one of the programs, in order. Up to a hundred lines within words ("bash -c '...'")
/// are followed. Commands that only mention the program's file (echo, cp) do not count. Cost: linear in the
/// script's expansion.
[[nodiscard]] std::vector<Script> starts_in(const planner::ConfigFile& file, const ShellReading& shell,
                                            std::initializer_list<std::string_view> programs, bool overrides);

/// The last of these commands, with the variables that the script sets and that it is started with. Throws
/// InputError if there is none.
[[nodiscard]] Script script_of(const planner::ConfigFile& file,
                               std::initializer_list<std::string_view> programs);

}  // namespace trnplan::targets
