// simulate and export: one strategy of a job in detail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/predictor.h"
#include "api/resolve.h"
#include "models/parameters/profile.h"
#include "models/step/timeline.h"
#include "planner/check/judge.h"
#include "planner/confidence/recommendation.h"
#include "text/remarks.h"

namespace trnplan::api {

struct SimulateRequest : Asked {
  std::string strategy;
  std::optional<models::Schedule> schedule;  ///< instead of the one that the strategy states
  std::string trace;   ///< file for the timeline, .pftrace or .json; empty: none is written
  bool force = false;  ///< overwrite `trace`
};
/// Files and folders that it reads, and those that it writes but for a report.
[[nodiscard]] std::vector<std::string> paths_of(const SimulateRequest& request);

struct SimulateResult {
  models::Job job;
  models::Strategy strategy;
  planner::Judgement judgement;
  models::Profile profile;   ///< what predicted
  planner::Outlook outlook;  ///< of the plan, where there is one; its interval is widened by it
};

/// A refused strategy is simulated all the same where that makes sense. Writes `trace`. Throws InputError.
[[nodiscard]] SimulateResult simulate(const SimulateRequest& request, Remarks& remarks);

/// "refused: memory: ...; fix: ..." of each rule that a strategy breaks.
void remark_broken(const planner::Judgement& judgement, Remarks& remarks);

struct ExportRequest : Asked {
  std::string strategy;
  std::string chakra;  ///< folder
  bool force = false;  ///< overwrite files in it
};

/// Writes a step as Chakra traces, one a rank, and comm_groups.json; says whether the rules refuse the strategy,
/// which is exported all the same where that makes sense. Throws InputError.
[[nodiscard]] bool export_traces(const ExportRequest& request, Remarks& remarks);

}  // namespace trnplan::api
