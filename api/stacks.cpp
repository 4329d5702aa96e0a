#include "api/stacks.h"

#include <string>

#include "models/framework/framework.h"
#include "targets/registry.h"

namespace trnplan::api {

namespace {

bool trains_there(const planner::Target* target, const models::Job& job) {
  return target != nullptr && target->trains_on(job.cluster.instance.traits);
}

/// The loop that the job pins, else the target's own, else the machine's usual one.
std::string_view loop_of(const models::Job& job, const planner::Target* target, bool pinned) {
  if (pinned && job.pin.framework) return *job.pin.framework;
  if (target != nullptr && !target->framework().empty()) return models::stated_framework(target->framework());
  return models::usual_framework(job.cluster.instance.traits);
}

/// Software that the job states and that has no place on the machine.
bool runs_elsewhere(const models::Job& job) {
  const planner::Target* target = targets::find(job.software.framework);
  return target != nullptr && !trains_there(target, job);
}

}  // namespace

std::vector<Stack> stacks_on(const io::Catalog& catalog, const models::Job& job, const StackChoice& choice) {
  const topology::Traits& machine = job.cluster.instance.traits;
  const auto stated = [&](const planner::Target* target) {
    return std::vector<Stack>{{target, loop_of(job, target, choice.loop_pinned), true}};
  };
  if (choice.target != nullptr) return stated(choice.target);
  const planner::Target* own = targets::find(job.software.framework);
  if (trains_there(own, job)) return stated(own);
  if (choice.loop_pinned || (own == nullptr && !job.software.framework.empty())) {
    const std::string_view loop = loop_of(job, nullptr, choice.loop_pinned);
    return {{targets::that_trains(machine, loop), loop, true}};
  }
  std::vector<Stack> all;
  for (const std::string& name : catalog.searched_stacks()) {
    const planner::Target* target = targets::find(name);
    if (trains_there(target, job)) all.push_back({target, loop_of(job, target, false), false});
  }
  if (all.empty()) {
    const std::string_view loop = models::usual_framework(machine);
    all.push_back({targets::that_trains(machine, loop), loop, false});
  }
  return all;
}

models::Job on_stack(models::Job job, const Stack& stack, const StackChoice& choice,
                     const models::Profile& profile) {
  const bool elsewhere = runs_elsewhere(job);
  if (!choice.loop_pinned) job.pin.framework.reset();
  if (stack.loop != models::usual_framework(job.cluster.instance.traits)) job.pin.framework = stack.loop;
  if (stack.target != nullptr) {
    targets::take_defaults(job, *stack.target, choice.precision_stated);
    if (elsewhere || job.software.framework.empty()) job.software.framework = stack.target->name();
  } else if (elsewhere || (profile.factors && job.software.framework.empty())) {
    job.software.framework = stack.loop;  // by which profiles know loops that no target writes
  }
  return job;
}

std::string_view name_of(const Stack& stack) {
  if (stack.target != nullptr) return stack.target->name();
  models::Strategy s;
  s.framework = stack.loop;
  return models::framework_of(s).name();
}

}  // namespace trnplan::api
