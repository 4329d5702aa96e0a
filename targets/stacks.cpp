#include "targets/stacks.h"

#include "models/framework/framework.h"
#include "targets/registry.h"

namespace trnplan::targets {

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

}  // namespace

std::vector<Stack> stacks_on(const std::vector<std::string>& searched, const models::Job& job,
                             const StackChoice& choice) {
  const topology::Traits& machine = job.cluster.instance.traits;
  const auto stated = [&](const planner::Target* target) {
    return std::vector<Stack>{{target, loop_of(job, target, choice.loop_pinned), true}};
  };
  if (choice.target != nullptr) return stated(choice.target);
  const planner::Target* own = find(job.software.framework);
  if (trains_there(own, job)) return stated(own);
  if (choice.loop_pinned || (own == nullptr && !job.software.framework.empty())) {
    const std::string_view loop = loop_of(job, nullptr, choice.loop_pinned);
    return {{that_trains(machine, loop), loop, true}};
  }
  const auto of_kind = [&](bool encoders) {
    std::vector<Stack> all;
    for (const std::string& name : searched) {
      const planner::Target* target = find(name);
      if (trains_there(target, job) && target->trains_encoders() == encoders)
        all.push_back({target, loop_of(job, target, false), false});
    }
    return all;
  };
  std::vector<Stack> all = of_kind(!job.architecture.causal);
  if (all.empty()) all = of_kind(false);
  if (all.empty()) {
    const std::string_view loop = models::usual_framework(machine);
    all.push_back({that_trains(machine, loop), loop, false});
  }
  return all;
}

}  // namespace trnplan::targets
