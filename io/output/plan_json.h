// Results as JSON, the contract for scripts (docs/json.md). Keys keep their order; numbers are shortest
// round-trip.
#pragma once

#include <string>
#include <vector>

#include "models/step/scenario.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/recommendation.h"
#include "planner/cost/run_forecast.h"
#include "planner/plan/plan.h"
#include "planner/search/search.h"
#include "targets/nxdt/baseline.h"
#include "targets/nxdt/nearest.h"
#include "targets/nxdt/nxdt_config.h"
#include "topology/rank_order.h"
#include "topology/verdict.h"

namespace trnplan::io {

/// Result of `plan`. All functions return a document that ends in a newline.
/// `baseline`, `confidence` (for the result's plans) and `run` may be null.
std::string search_json(const planner::SearchResult& result, const models::Job& job, double wall_seconds,
                        const targets::Baseline* baseline = nullptr,
                        const planner::Confidence* confidence = nullptr,
                        const planner::ForecastRun* run = nullptr,
                        const std::vector<planner::Outlook>& outlooks = {});
/// The step of a plan in a scenario; refers to its parts.
struct ShownScenario {
  const std::string* text;
  const models::StepReport* report;
  const std::vector<models::CoreWork>* work;
  const models::RunsOfStep* runs;  ///< null unless times are random
};
/// One plan object, as `simulate` prints it and `plan --out` writes it. `broken` may be empty, `scenario` null.
std::string plan_json(const planner::Plan& plan, const std::vector<planner::Violation>& broken = {},
                      const ShownScenario* scenario = nullptr);
/// Replaces a plan object if a strategy cannot be simulated: only the reasons.
std::string refusal_json(const std::vector<planner::Violation>& broken);
/// A legal config near a refused one, and the changes that lead to it.
struct NearestJson {
  targets::NearConfig config;
  std::string diff;  ///< of the file; "" if it cannot be made
};
/// `prediction` may be null.
std::string check_json(const std::string& verdict, const std::vector<targets::Finding>& findings,
                       const planner::Plan* prediction, const std::vector<NearestJson>& nearest = {},
                       const std::string& no_prediction = "");
std::string topology_json(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict);

}  // namespace trnplan::io
