#include "launch/submit/schedulers.h"

#include "launch/kubernetes/eks.h"
#include "launch/local/local.h"
#include "launch/slurm/slurm.h"

namespace trnplan::launch {

const std::vector<const Scheduler*>& schedulers() {
  static const std::vector<const Scheduler*> all = {&slurm(), &eks(), &local()};
  return all;
}

const Scheduler* find_scheduler(std::string_view name) {
  for (const Scheduler* scheduler : schedulers()) {
    if (scheduler->name() == name) return scheduler;
  }
  return nullptr;
}

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const Scheduler* scheduler : schedulers()) names.emplace_back(scheduler->name());
  return names;
}

}  // namespace trnplan::launch
