// plan.json of a folder that `plan --out` wrote: the plan object, and what is needed to judge a run by it.
#pragma once

#include <filesystem>
#include <string>

#include "io/catalog.h"
#include "io/document.h"
#include "models/job.h"
#include "models/strategy.h"
#include "planner/plan.h"
#include "units/quantity.h"

namespace trnplan::io {

/// What is put beside the plan object.
struct PlanStory {
  std::string target;    ///< what trains: "nxdt", "nemo-megatron", "nxd"
  std::string software;  ///< versions it needs and how long they are supported
};

/// The keys of plan_json(), then `target`, `software` and `job`: {model, sequence, global_batch, tokens,
/// framework, release}. Ends in a newline.
std::string plan_file_json(const models::Job& job, const planner::Plan& plan, const PlanStory& story);

struct PlanFile {
  models::Job job;  ///< architecture from the config.json beside the file
  models::Strategy strategy;
  Seconds step{}, low{}, high{};  ///< predicted, with the 90 % interval
  Bytes peak{};                   ///< predicted for the worst core
  double usd_per_hour = 0;        ///< of all nodes; 0: no price was known
  std::string target;
};

/// Throws InputError with every fault: keys that are missing or of the wrong kind, an unknown instance type,
/// and those of config.json.
PlanFile read_plan_file(const std::filesystem::path& path, const Catalog& catalog,
                        const Files& files = disk());

}  // namespace trnplan::io
