#include "api/training_loop.h"

#include <string>
#include <utility>

#include "api/inputs.h"
#include "models/framework/framework.h"
#include "targets/registry.h"

namespace trnplan::api {

namespace {

/// The target of the job's software; null where it states none, or a stack that no target is for.
const planner::Target* stated_target(const models::Job& job) {
  return targets::find(job.software.framework);
}

bool runs_elsewhere(const models::Job& job) {
  const planner::Target* target = stated_target(job);
  return target != nullptr && !target->trains_on(job.cluster.instance.traits);
}

std::vector<std::string_view> compared_on(const io::Catalog& catalog, const topology::Traits& machine) {
  std::vector<std::string_view> all;
  for (const std::string& name : catalog.compared_frameworks()) {
    models::Strategy s;
    s.framework = models::stated_framework(name);
    if (models::framework_of(s).trains_on(machine)) all.push_back(s.framework);
  }
  if (all.empty()) all.push_back(models::usual_framework(machine));
  return all;
}

}  // namespace

std::vector<TrainingLoop> loops_on(const io::Catalog& catalog, const models::Job& job, bool stated) {
  const topology::Traits& machine = job.cluster.instance.traits;
  const planner::Target* own = stated_target(job);
  const bool elsewhere = runs_elsewhere(job);
  if (own != nullptr && !elsewhere) return {{stated ? *job.pin.framework : own->framework(), own, false}};
  std::vector<TrainingLoop> all;
  for (const std::string_view framework :
       stated ? std::vector<std::string_view>{*job.pin.framework} : compared_on(catalog, machine)) {
    const bool by_itself = stated || framework == models::usual_framework(machine);
    all.push_back({framework, targets::that_trains(machine, framework), elsewhere || !by_itself});
  }
  return all;
}

models::Job on_loop(models::Job job, const TrainingLoop& loop, const models::Profile& profile,
                    bool precision_stated) {
  job.pin.framework = loop.framework;
  if (loop.target != nullptr) {
    take_target(job, *loop.target, loop.named, precision_stated);
  } else if (runs_elsewhere(job)) {
    job.software.framework.clear();
  }
  take_loop(job, profile, loop.framework);
  return job;
}

void take_target(models::Job& job, const planner::Target& target, bool named, bool precision_stated) {
  targets::take_defaults(job, target, precision_stated);
  if (named && (job.software.framework.empty() || runs_elsewhere(job)))
    job.software.framework = target.name();
}

}  // namespace trnplan::api
