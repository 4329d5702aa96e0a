#include "launch/folder/setup_values.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "targets/registry.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

/// bash runs the file and prints the variables with zero bytes between.
SetupValues run_setup(const fs::path& folder, const Runner& runner, const std::optional<Pods>& pods) {
  std::vector<std::string> command = {
      "bash",
      "-c",
      "set -eu; plan=$2; . \"$1/setup_env.sh\" >&2; printf '%s\\0' \"$TRNPLAN_VENV\" \"$TRNPLAN_CODE\" "
      "\"${TRNPLAN_DATA:-}\" \"$TRNPLAN_PARTITION\"",
      "bash",
      folder.string(),
      pods ? pods->folder : folder.string()};
  if (pods) command.insert(command.begin(), {"env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin"});
  const ProcessResult ran = runner(command, {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < ran.output.size();) {
    const std::size_t end = std::min(ran.output.find('\0', at), ran.output.size());
    words.push_back(ran.output.substr(at, end - at));
    at = end + 1;
  }
  if (ran.ok() && words.size() == 4) return {words[0], words[1], words[2], words[3]};
  throw InputError({{(folder / kSetupFile).string(), 0, 0},
                    "",
                    "bash cannot read it: " + printable(ran.error),
                    "mend it, or write the folder anew"});
}

}  // namespace

std::vector<std::string> modes_of(const planner::Target& target) {
  if (target.compiles_ahead()) return {"compile", "train"};
  return {"train"};
}

std::vector<std::string> modes_of(const HeldFolder& folder) {
  const planner::Target* target = nullptr;
  try {
    const Node plan = parse_document(folder.read("plan.json"), "plan.json");
    if (const Node* name = plan.find("target")) target = targets::find(name->scalar);
  } catch (const InputError&) {
    target = nullptr;
  }
  return modes_of(target == nullptr ? targets::standard() : *target);
}

Environment environment_of(const fs::path& folder, const std::optional<Pods>& pods) {
  const std::string plan = pods ? pods->folder : folder.string();
  return [plan, in_pods = pods.has_value()](const std::string& name) -> std::optional<std::string> {
    if (name == "plan") return plan;  // the scripts set it before they read the file
    if (in_pods) return std::nullopt;
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

SetupValues setup_values(const fs::path& folder, const Runner& runner, const std::optional<Pods>& pods) {
  const SetupEnv env = read_setup_env(read_text(folder / kSetupFile), environment_of(folder, pods));
  bool known = true;
  const auto value = [&](const char* name) -> std::optional<std::string> {
    const auto found = env.values.find(name);
    if (found != env.values.end() && found->second.text) return found->second.text;
    if (found == env.values.end() && env.unread.empty()) return "";
    known = false;
    return std::nullopt;
  };
  SetupValues values{value("TRNPLAN_VENV"), value("TRNPLAN_CODE"), value("TRNPLAN_DATA"),
                     value("TRNPLAN_PARTITION")};
  return known || !runner ? values : run_setup(folder, runner, pods);
}

}  // namespace trnplan::launch
