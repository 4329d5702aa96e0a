// plan.json of a folder that `plan --out` wrote: the plan object, and the data to judge a run by it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "text/document.h"
#include "units/quantity.h"

namespace trnplan::io {

inline constexpr const char* kPlanFile = "plan.json";

/// Additions to the plan object.
struct PlanStory {
  std::string target;    ///< the name of the planner::Target that trains
  std::string software;  ///< required versions, and how long they are supported
};

/// The keys of plan_json(), then `target`, `software` and `job`: {model, config, sequence, global_batch,
/// tokens, framework, release}, with `price` where the user chose one, where `config` is the content of config.json;
/// `trnplan_version` and `sha256`, of the text with zeros in its place. All other files of the folder are written from
/// this. Ends in a newline.
std::string plan_file_json(const models::Job& job, const planner::Plan& plan, const PlanStory& story);

struct PlanFile {
  models::Job job;  ///< architecture as planned; for an older file that of the config.json next to it
  models::Strategy strategy;
  Seconds step{}, low{}, high{};  ///< predicted, with the 90 % interval
  Bytes peak{};                   ///< predicted for the worst core
  double usd_per_hour = 0;        ///< of all nodes; 0: no price was known
  std::string target;
  std::string version;     ///< of the program that wrote it; "" = an older one, which did not state it
  bool unchanged = false;  ///< to the byte, since it was written
  Node config;             ///< content for config.json; null in an older file
};

/// Reads plan.json. Throws InputError with every fault: keys that are missing or of the wrong kind, an
/// unknown instance type, those of config.json, and a config.json of another shape than the plan's.
PlanFile read_plan_file(const std::filesystem::path& path, const Catalog& catalog,
                        const Files& files = disk());

/// PlanFile::version of a text that may be damaged otherwise; "" if it states none.
std::string plan_version(const std::string& text);

}  // namespace trnplan::io
