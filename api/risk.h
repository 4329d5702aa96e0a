// Probabilities that plans work, and errors of their times, from runs known to work. plan, whatif, simulate
// and check all use this one source.
#pragma once

#include <vector>

#include "io/catalog/catalog.h"
#include "planner/confidence/distance.h"
#include "planner/confidence/observations.h"
#include "planner/confidence/recommendation.h"

namespace trnplan::api {

class KnownRisk {
 public:
  /// `observations`, `own_model` and `gpus`: as recorded_runs() takes them. Throws InputError. Cost: reads two
  /// tables of the catalogue, some ten milliseconds.
  KnownRisk(const io::Catalog& catalog, const std::vector<planner::Observation>& observations,
            const models::Architecture& own_model, bool gpus);

  /// Keeps references to this and to its arguments.
  [[nodiscard]] planner::RiskAdvisor advisor(const models::Job& job, const models::Profile& profile,
                                             planner::RiskAttitude attitude = planner::RiskAttitude::neutral,
                                             double sure = 0.9) const;

  [[nodiscard]] const planner::RecommendingParameters& parameters() const { return parameters_; }

 private:
  planner::RecommendingParameters parameters_;
  planner::MeasuringTimes times_;
  planner::RecordedRuns runs_;
  std::vector<planner::Observation> observations_;
};

}  // namespace trnplan::api
