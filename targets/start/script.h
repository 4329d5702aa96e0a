// A script that starts a program with flags or overrides.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

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

/// Of the last command that starts one of the programs, its variables followed (targets/flags/shell_follower.h). Throws
/// InputError where there is none. Cost: linear in what the script expands to.
[[nodiscard]] Script script_of(const planner::ConfigFile& file,
                               std::initializer_list<std::string_view> programs);

}  // namespace trnplan::targets
