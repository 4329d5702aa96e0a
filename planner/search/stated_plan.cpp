#include "planner/search/stated_plan.h"

namespace trnplan::planner {

StatedPlan stated_plan(const Plan& plan) {
  StatedPlan c;
  c.strategy = plan.strategy;
  c.nodes = plan.nodes;
  c.instance = plan.instance;
  c.global_batch = plan.global_batch;
  c.micro_batches = plan.micro_batches;
  c.step = plan.report.step;
  for (const models::StageMemory& m : plan.memory.stages) c.peaks.push_back(m.peak());
  return c;
}

}  // namespace trnplan::planner
