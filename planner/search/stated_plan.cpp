#include "planner/search/stated_plan.h"

#include <algorithm>

#include "models/framework/framework.h"

namespace trnplan::planner {

StatedPlan stated_plan(const Plan& plan) {
  StatedPlan c;
  c.strategy = plan.strategy;
  c.nodes = plan.nodes;
  c.instance = plan.instance;
  c.global_batch = plan.global_batch;
  c.micro_batches = plan.micro_batches;
  c.step = plan.report.step;
  const models::Framework& framework = models::framework_of(plan.strategy);
  const std::vector<models::Sharding> can = framework.shardings();
  c.weights.sharded = std::find(can.begin(), can.end(), models::Sharding::parameters) != can.end();
  if (const auto units = framework.units(plan.strategy)) c.weights.copies = units->buffered;
  for (const models::StageMemory& m : plan.memory.stages) c.peaks.push_back(m.peak());
  return c;
}

}  // namespace trnplan::planner
