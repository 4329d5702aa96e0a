// What a person put into setup_env.sh of a plan's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/folder/held_folder.h"
#include "launch/folder/setup_env.h"
#include "launch/process/process.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

inline constexpr const char* kSetupFile = "setup_env.sh";

/// nullopt: only running setup_env.sh would tell.
struct SetupValues {
  std::optional<std::string> venv, code, data, partition;
};

/// The jobs of a target's folders, in their order: "compile", where it compiles ahead, and "train".
std::vector<std::string> modes_of(const planner::Target& target);
/// Those of the target that plan.json names, whichever scheduler the folder is for; of a plan.json that cannot be read, of which
/// the checks tell, those of the usual target. Throws nothing.
std::vector<std::string> modes_of(const HeldFolder& folder);

/// Where jobs run that see neither this machine's paths nor its environment.
struct Pods {
  std::string folder;               ///< where they see the plan's folder; "" = their manifest does not say it
  std::vector<std::string> mounts;  ///< of volumes that outlive them and that they share
};

/// What the scripts see before they read setup_env.sh: the variables of this process, none in pods, and `plan`.
Environment environment_of(const std::filesystem::path& folder,
                           const std::optional<Pods>& pods = std::nullopt);

/// As setup_env.sh sets them, read. What reading does not give is asked of bash, which runs the file, unless
/// `runner` is empty. Throws InputError when the file cannot be read.
SetupValues setup_values(const std::filesystem::path& folder, const Runner& runner,
                         const std::optional<Pods>& pods = std::nullopt);

}  // namespace trnplan::launch
