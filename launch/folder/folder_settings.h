// What a person put into settings.env of a plan's folder. setup_env.sh, which every script sources, reads it by the same rule.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/folder/held_folder.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

inline constexpr const char* kSettingsFile = "settings.env";

inline constexpr const char* kResults = "TRNPLAN_RESULTS";

struct Setting {
  std::string value;
  int line = 0;  ///< of the file; 0: the environment sets it
};

/// The file alone.
struct SettingsFile {
  struct Fault {
    int line = 0;
    std::string name;  ///< what it seems to set; "" = nothing
    std::string problem;
  };
  std::map<std::string, Setting, std::less<>> values;  ///< by name
  std::vector<Fault> faults;                           ///< lines that are not read, in their order
};

/// Lines NAME=VALUE; empty ones and those that begin with # are left out. The value is all that stands behind the first =, without
/// the two quotes, " or ', around it. Nothing else is special, so nothing is expanded or run. Cost: linear.
[[nodiscard]] SettingsFile read_settings(const std::string& text);

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

/// Settings as the scripts of a folder see them.
class FolderSettings {
 public:
  FolderSettings() = default;
  FolderSettings(SettingsFile file, const std::filesystem::path& folder,
                 std::optional<Pods> pods = std::nullopt);

  /// The variable of this process, which is none in pods, where it is not empty; else the file's value, of which ./ is the plan's
  /// folder; nullopt where the file has no such name.
  [[nodiscard]] std::optional<Setting> find(std::string_view name) const;
  /// Where logs and checkpoints go: kResults, and where it is empty the folder run in the plan's, as node_run.sh has it.
  [[nodiscard]] std::optional<Setting> results() const;
  /// "" where there is none.
  [[nodiscard]] std::string value(std::string_view name) const;

 private:
  SettingsFile file_;
  std::string folder_;
  bool in_pods_ = false;
};

}  // namespace trnplan::launch
