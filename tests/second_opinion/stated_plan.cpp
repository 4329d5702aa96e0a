#include "tests/second_opinion/stated_plan.h"

namespace trnplan::second_opinion {

StatedPlan stated_plan(const planner::Plan& plan) {
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

}  // namespace trnplan::second_opinion
