#include "api/risk.h"

#include "api/recorded_runs.h"
#include "io/catalog/measuring.h"
#include "io/catalog/recommending.h"
#include "io/catalog/reliability.h"
#include "text/document.h"

namespace trnplan::api {

KnownRisk::KnownRisk(const io::Catalog& catalog, const std::vector<planner::Observation>& observations,
                     const models::Architecture& own_model, bool gpus)
    : parameters_(io::recommending_from(*catalog.document("recommending.json"))),
      times_(io::measuring_from(*catalog.document("measuring.json"),
                                io::reliability_from(*catalog.document("reliability.json")))),
      runs_(recorded_runs(catalog, observations, own_model, gpus), parameters_.distance),
      observations_(observations) {}

planner::RiskAdvisor KnownRisk::advisor(const models::Job& job, const models::Profile& profile,
                                        planner::RiskAttitude attitude, double sure) const {
  return {job, profile, runs_, parameters_, times_, attitude, sure, observations_};
}

}  // namespace trnplan::api
