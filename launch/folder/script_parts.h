// Parts that the scripts of a folder, prepare.sh and README.md share. Private to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/folder/scripts.h"

namespace trnplan::launch {

inline const topology::Instance& machine_of(const ScriptContext& c) {
  return c.job.cluster.instance;
}
/// Hosts of the plan, which Slurm, Kubernetes and torchrun call nodes.
inline int hosts_of_plan(const ScriptContext& c) {
  return c.plan.nodes * machine_of(c).hosts;
}
/// True for clusters so large that looking up graphs through the shared file system stalls them.
inline bool local_cache(const ScriptContext& c) {
  return hosts_of_plan(c) >= kLocalCacheNodes;
}
/// Template of a script: one for targets that compile ahead, one for the others.
inline std::string_view form_of(const ScriptContext& c, std::string_view compiling, std::string_view eager) {
  return c.target.compiles_ahead() ? compiling : eager;
}

/// Lines at the beginning of every script, after its purpose; the last one without its end.
std::string about(const ScriptContext& c);

/// One comment line per remark; the last one without its end.
std::string comments(const std::vector<std::string>& remarks);

/// Description of the data set that a person has to give.
inline std::string data_meaning(const planner::Preparation& p) {
  return p.data_is.empty() ? "The data set." : p.data_is;
}
/// Beginning of the description of a value that only prepare.sh needs.
inline constexpr const char* kForPreparing = "For prepare.sh only. ";

/// Mode of prepare.sh.
struct PrepareMode {
  std::string_view name, arguments, what;
};
/// Modes of prepare.sh that have commands.
std::vector<PrepareMode> prepare_modes(const planner::Preparation& p);
/// Names of modes with their arguments: "environment, data, or from-hf FROM TO".
std::string mode_names(const std::vector<PrepareMode>& modes);

}  // namespace trnplan::launch
