// simulate and export: one strategy of a job in detail.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/predictor.h"
#include "api/resolve.h"
#include "models/parameters/profile.h"
#include "models/step/step.h"
#include "models/step/timeline.h"
#include "planner/check/judge.h"
#include "planner/confidence/recommendation.h"
#include "text/remarks.h"

namespace trnplan::api {

struct SimulateRequest : Asked {
  std::string strategy;
  std::string scenario;  ///< a machine that is not ideal, or a file (io/input/scenario_text.h); empty = none
  std::optional<models::Schedule> schedule;  ///< overrides the strategy's
  std::string trace;                         ///< file for the timeline, .pftrace or .json; empty = none
  std::string price;   ///< of nodes by type, instead of the catalogue's; see stated_prices()
  bool force = false;  ///< overwrites `trace`
};
/// Files and folders that it reads, and those that it writes except a report.
[[nodiscard]] std::vector<std::string> paths_of(const SimulateRequest& request);

/// The step of a plan in a scenario.
struct ScenarioStep {
  /// Options of a timeline that draws it.
  [[nodiscard]] models::TimelineOptions drawn() const {
    return {.scenario = machine, .run = runs ? runs->median : 0};
  }

  std::string scenario;  ///< as it was asked for
  models::Scenario machine;
  models::StepReport report;               ///< where times are random, of the run in the middle
  std::vector<models::CoreWork> work;      ///< by stage, then ascending by factor
  std::optional<models::RunsOfStep> runs;  ///< where times are random
};

struct SimulateResult {
  models::Job job;
  models::Strategy strategy;
  planner::Judgement judgement;
  models::Profile profile;   ///< of the prediction
  planner::Outlook outlook;  ///< of the plan, if there is one; its interval is already widened
  std::optional<ScenarioStep> scenario;
};

/// Simulates a refused strategy too, if that makes sense. Writes `trace`. Throws InputError.
[[nodiscard]] SimulateResult simulate(const SimulateRequest& request, Remarks& remarks);

/// Adds "refused: memory: ...; fix: ..." for each rule that a strategy breaks.
void remark_broken(const planner::Judgement& judgement, Remarks& remarks);

struct ExportRequest : Asked {
  std::string strategy;
  std::string chakra;  ///< folder
  bool force = false;  ///< overwrites files in it
};

/// Writes a step as Chakra traces, one per rank, and comm_groups.json. Returns true if the rules refuse the
/// strategy, which is exported anyway if that makes sense. Throws InputError.
[[nodiscard]] bool export_traces(const ExportRequest& request, Remarks& remarks);

}  // namespace trnplan::api
