// A script that starts a program with flags or overrides.
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
  std::string program;  ///< as it was asked for
  /// Flags ("--lr"), overrides ("model.num_layers") and variables that are set ("NEURON_FUSE_SOFTMAX"), each by its name with
  /// what stands behind it.
  StatedByName stated;
};

/// Flags among words ("--lr 1", "--lr=1", "--fast"), each with what stands behind it, and with `overrides` "name=value" too.
/// Of one that is stated twice, the last.
[[nodiscard]] StatedByName settings_in(const std::string& file, std::span<const ShellWord> words,
                                       bool overrides);

/// Variables that a script is started in: those that the file's caller states, and where the number of hosts is known the
/// names that schedulers and examples have for it.
[[nodiscard]] ShellEnvironment environment_of(const planner::ConfigFile& file);

/// The commands that start one of the programs, in their order; lines within words ("bash -c '...'") are followed, up to a
/// hundred of them. Not those that only speak of its file (echo, cp). Cost: linear in what the script expands to.
[[nodiscard]] std::vector<Script> starts_in(const planner::ConfigFile& file, const ShellReading& shell,
                                            std::initializer_list<std::string_view> programs, bool overrides);

/// The last of them, with the variables that the script sets and that it is started in. Throws InputError where there is none.
[[nodiscard]] Script script_of(const planner::ConfigFile& file,
                               std::initializer_list<std::string_view> programs);

}  // namespace trnplan::targets
