// Values that a person put into settings.env of a plan's folder. setup_env.sh, which every script sources, reads
// the file by the same rules.
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
  int line = 0;  ///< of the file; 0 if the environment sets it
};

/// Contents of the file alone.
struct SettingsFile {
  struct Fault {
    int line = 0;
    std::string name;  ///< name that it seems to set; "" = none
    std::string problem;
  };
  std::map<std::string, Setting, std::less<>> values;  ///< by name
  std::vector<Fault> faults;                           ///< lines that are not read, in order
};

/// Reads lines NAME=VALUE, except empty ones and those that begin with #. The value is the whole text after the
/// first =, without the two quotes, " or ', around it. Nothing else is special, so nothing is expanded or run.
/// Cost: linear.
[[nodiscard]] SettingsFile read_settings(const std::string& text);

/// Jobs of a target's folders, in order: "compile" if it compiles ahead, and "train".
std::vector<std::string> modes_of(const planner::Target& target);
/// Jobs of the target that plan.json names, for any scheduler. If plan.json cannot be read, which the checks
/// report, those of the default target. Throws nothing.
std::vector<std::string> modes_of(const HeldFolder& folder);

/// Pods, whose jobs see neither this machine's paths nor its environment.
struct Pods {
  std::string folder;  ///< path of the plan's folder in them; "" if their manifest does not state it
  std::vector<std::string> mounts;  ///< mount points of volumes that they share and that outlive them
};

/// Settings as a folder's scripts see them.
class FolderSettings {
 public:
  FolderSettings() = default;
  FolderSettings(SettingsFile file, const std::filesystem::path& folder,
                 std::optional<Pods> pods = std::nullopt);

  /// Variable of this process if it is not empty (pods have none); else the file's value, in which ./ is the plan's
  /// folder; nullopt if the file has no such name.
  [[nodiscard]] std::optional<Setting> find(std::string_view name) const;
  /// Folder of logs and checkpoints: kResults, or if it is empty the folder run in the plan's, as in node_run.sh.
  [[nodiscard]] std::optional<Setting> results() const;
  /// Value of a setting; "" if there is none.
  [[nodiscard]] std::string value(std::string_view name) const;

 private:
  SettingsFile file_;
  std::string folder_;
  bool in_pods_ = false;
};

}  // namespace trnplan::launch
