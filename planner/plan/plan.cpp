#include "planner/plan/plan.h"

#include <cmath>

#include "models/collective/collective_memory.h"
#include "models/collective/measured_network.h"
#include "models/step/step.h"
#include "models/uncertainty/mixture.h"
#include "units/product.h"

namespace trnplan::planner {

Plan timed_plan(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
                const topology::ChipGraph& graph, models::CollectiveMemory* memory) {
  Plan plan;
  plan.strategy = strategy;
  plan.nodes = job.cluster.nodes;
  plan.instance = job.cluster.instance.name;
  plan.changed_hardware = job.cluster.instance.changes;
  plan.accelerator = job.cluster.instance.traits.accelerator;
  plan.micro_batches = models::micro_batches(job.training, strategy);
  plan.global_batch = job.training.global_batch;
  plan.report = models::StepModel(job, strategy, profile, graph, memory).simulate();
  plan.memory = models::memory_of(job, strategy, profile);
  plan.graph = models::largest_graph(job, strategy, profile);
  plan.usd_per_hour = job.cluster.instance.usd_per_hour() * job.cluster.nodes;
  if (const topology::Price* price = job.cluster.instance.price()) plan.price_kind = price->kind;
  if (profile.network && job.cluster.nodes > 1) plan.network = job.all_reduce;
  plan.run = Seconds(job.training.tokens / plan.report.tokens_per_second);
  return plan;
}

void add_slow_network(Plan& plan, const models::Job& job, const models::Profile& profile,
                      const topology::ChipGraph& graph, models::CollectiveMemory* memory) {
  const auto slow = models::in_slow_network(profile, job);
  if (!slow || plan.report.slow) return;
  const models::StepModel model(job, plan.strategy, slow->profile, graph, memory);
  models::add_slow_state(plan.report, slow->probability, model.simulate());
}

Plan make_plan(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
               const topology::ChipGraph& graph) {
  models::CollectiveMemory memory;  // a slow network moves the same bytes
  Plan plan = timed_plan(job, strategy, profile, graph, &memory);
  add_slow_network(plan, job, profile, graph, &memory);
  return plan;
}

std::optional<WaitingStages> waiting_stages(const Plan& plan) {
  const double step = plan.report.step.value;
  const double waits = plan.report.breakdown[static_cast<std::size_t>(models::Category::bubble)].value;
  if (plan.micro_batches < 1 || waits < kMuchWaiting * step) return std::nullopt;
  const double times = waits / (step - waits) * (1 / kLittleWaiting - 1);
  const auto enough = static_cast<std::int64_t>(std::ceil(plan.micro_batches * times));
  return WaitingStages{waits / step,
                       saturating_product({enough, plan.strategy.micro_batch, plan.strategy.data_parallel})};
}

models::Job as_planned(models::Job job, const Plan& plan) {
  for (const topology::Instance& i : job.space.instances) {
    if (i.name == plan.instance) job.cluster.instance = i;
  }
  job.cluster.nodes = plan.nodes;
  job.training.global_batch = plan.global_batch;
  job.training.precision = plan.strategy.precision;
  job.space = {};
  return job;
}

}  // namespace trnplan::planner
