// plan.json of a folder that `plan --out` wrote: the plan object, and what is needed to judge a run by it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "text/document.h"
#include "units/quantity.h"

namespace trnplan::io {

/// What is put beside the plan object.
struct PlanStory {
  std::string target;                          ///< what trains: the name of a planner::Target
  std::string software;                        ///< versions it needs and how long they are supported
  std::map<std::string, std::string> scripts;  ///< name and hash of the scripts that lie beside it
};

/// The keys of plan_json(), then `target`, `software`, `job`: {model, shape, sequence, global_batch, tokens,
/// framework, release}, and `scripts`. Ends in a newline.
std::string plan_file_json(const models::Job& job, const planner::Plan& plan, const PlanStory& story);

struct PlanFile {
  models::Job job;  ///< architecture from the config.json beside the file
  models::Strategy strategy;
  Seconds step{}, low{}, high{};  ///< predicted, with the 90 % interval
  Bytes peak{};                   ///< predicted for the worst core
  double usd_per_hour = 0;        ///< of all nodes; 0: no price was known
  std::string target;
  std::map<std::string, std::string> scripts;  ///< empty: of a trnplan that did not write them down
};

/// Throws InputError with every fault: keys that are missing or of the wrong kind, an unknown instance type,
/// those of config.json, and a config.json of another shape than the plan's.
PlanFile read_plan_file(const std::filesystem::path& path, const Catalog& catalog,
                        const Files& files = disk());

}  // namespace trnplan::io
