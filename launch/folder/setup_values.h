// What a person put into setup_env.sh of a plan's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch/folder/setup_env.h"
#include "launch/process/process.h"

namespace trnplan::launch {

inline constexpr const char* kSetupFile = "setup_env.sh";

/// nullopt: only running setup_env.sh would tell.
struct SetupValues {
  std::optional<std::string> venv, code, data, partition;
};

/// The jobs of a folder, in their order: "compile", where the folder has such a job, and "train".
std::vector<std::string> modes_of(const std::filesystem::path& folder);

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
