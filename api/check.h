// check: the faults that NxDT would find in a config, the problems of its strategy, and its step time. For
// other targets' configs and scripts, as much as can be read of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/resolve.h"
#include "api/stated_files.h"
#include "io/output/plan_json.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/nearest.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::api {

struct CheckRequest {
  std::string file;    ///< a config, the script that starts a run, or a folder that plan --out wrote
  std::string target;  ///< target of the file; may be empty: detected
  std::string instance, release;        ///< may be empty: as many cores as trainer.devices; unknown
  std::string version;                  ///< of NxDT; may be empty: unknown
  std::string profile;                  ///< "" = the catalogue's
  int nodes = 0;                        ///< 0 = those of the config
  int planned_nodes = 0;                ///< of the plan whose folder holds the file; 0 = none
  std::optional<topology::Price> paid;  ///< of a node of that plan, if the user chose it
  std::optional<models::MeasuredAllReduce> all_reduce = {};  ///< that the plan was made with
  /// Variables of the environment in which a script of `target` starts, by name.
  std::map<std::string, std::string, std::less<>> environment = {};
  StatedFiles texts;       ///< `file`, if in memory
  bool recommends = true;  ///< false: no nearest configs, whose search takes most of the time
};

struct CheckResult {
  std::string verdict;                     ///< "ok", "warn" or "refused"
  std::vector<targets::Finding> findings;  ///< errors first
  std::optional<planner::Plan> prediction;
  StackRef stack;                            ///< of the prediction
  models::Job job;                           ///< of the prediction
  std::vector<targets::NearConfig> nearest;  ///< if the strategy is refused
  std::string text;                          ///< of the file
  targets::NxdtConfig config;
  std::string no_prediction;  ///< reason why there is none
  std::string machine_of;     ///< the plan.json next to the file, if the machine is that of its plan; else ""
  std::size_t not_judged = 0;  ///< flags that nothing is known of
};

/// Throws InputError if the file is no config of the target.
[[nodiscard]] CheckResult check(const CheckRequest& request);

/// Remark on a machine that is that of the plan.json next to the file: CheckResult::machine_of.
[[nodiscard]] std::string machine_next_to(const CheckResult& checked);

/// Nearest configs, each with its diff, fewest changed keys first. Keys that an interpolation changes as a
/// consequence are no longer among the changes.
[[nodiscard]] std::vector<io::NearestJson> with_diffs(std::vector<targets::NearConfig> near,
                                                      const std::string& text,
                                                      const targets::NxdtConfig& config);

}  // namespace trnplan::api
