// What the scripts of a folder, prepare.sh and README.md share. Private to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/folder/scripts.h"

namespace trnplan::launch {

inline const topology::Instance& machine_of(const ScriptContext& c) {
  return c.job.cluster.instance;
}
/// What Slurm, Kubernetes and torchrun call nodes.
inline int hosts_of_plan(const ScriptContext& c) {
  return c.plan.nodes * machine_of(c).hosts;
}
/// Looking graphs up through the shared file system stalls clusters of that size.
inline bool local_cache(const ScriptContext& c) {
  return hosts_of_plan(c) >= kLocalCacheNodes;
}
/// The template of a script that has one for targets which compile and one for those which do not.
inline std::string_view form_of(const ScriptContext& c, std::string_view compiling, std::string_view eager) {
  return c.target.compiles_ahead() ? compiling : eager;
}

/// Lines that begin every script, behind what it is for; the last one without its end.
std::string about(const ScriptContext& c);

/// A comment line each; the last one without its end.
std::string comments(const std::vector<std::string>& remarks);

/// What a person has to give as data set, and the head of what prepare.sh alone needs.
inline std::string data_meaning(const planner::Preparation& p) {
  return p.data_is.empty() ? "The data set." : p.data_is;
}
inline constexpr const char* kForPreparing = "For prepare.sh only. ";

/// What prepare.sh does.
struct PrepareMode {
  std::string_view name, arguments, what;
};
/// The modes of prepare.sh that have commands.
std::vector<PrepareMode> prepare_modes(const planner::Preparation& p);
/// "environment, data, or from-hf FROM TO".
std::string mode_names(const std::vector<PrepareMode>& modes);

}  // namespace trnplan::launch
