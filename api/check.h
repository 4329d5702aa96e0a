// check: what NxDT would say of a config, what its strategy runs into, and how long a step takes. Of other targets' configs
// and scripts what can be read of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/stated_files.h"
#include "io/output/plan_json.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/nearest.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::api {

struct CheckRequest {
  std::string file;    ///< a config, the script that starts a run, or a folder that plan --out wrote
  std::string target;  ///< whose file it is; may be empty: as the file tells
  std::string instance, release;  ///< may be empty: as many cores as trainer.devices; not known
  std::string version;            ///< of NxDT; may be empty: not known
  std::string profile;            ///< "": the catalogue's
  int nodes = 0;                  ///< 0: those of the config
  /// Variables of the environment that a script of `target` is started in, by name.
  std::map<std::string, std::string, std::less<>> environment = {};
  StatedFiles texts;  ///< `file`, where it stands in memory
};

struct CheckResult {
  std::string verdict;                     ///< "ok", "warn" or "refused"
  std::vector<targets::Finding> findings;  ///< errors first
  std::optional<planner::Plan> prediction;
  std::vector<targets::NearConfig> nearest;  ///< where the strategy is refused
  std::string text;                          ///< of the file
  targets::NxdtConfig config;
  std::string no_prediction;  ///< why there is none
};

/// Throws InputError where the file is no config of the target.
[[nodiscard]] CheckResult check(const CheckRequest& request);

/// The nearest configs with the diff of each, fewest changed keys first: keys that an interpolation changes along are
/// no longer among its changes.
[[nodiscard]] std::vector<io::NearestJson> with_diffs(std::vector<targets::NearConfig> near,
                                                      const std::string& text,
                                                      const targets::NxdtConfig& config);

}  // namespace trnplan::api
