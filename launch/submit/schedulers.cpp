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

std::vector<std::string> launch_command(const std::string& folder, const models::RunFiles& run) {
  std::vector<std::string> words = {"trnplan", "launch", folder};
  if (!run.scheduler) return words;
  const std::string_view name = models::kSubmitNames.at(static_cast<std::size_t>(*run.scheduler));
  if (name != schedulers().front()->name()) words.insert(words.end(), {"--scheduler", std::string(name)});
  return words;
}

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  for (const Scheduler* scheduler : schedulers()) names.emplace_back(scheduler->name());
  return names;
}

}  // namespace trnplan::launch
