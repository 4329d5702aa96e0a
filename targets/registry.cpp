#include "targets/registry.h"

#include "targets/nemo_megatron/nemo_megatron_target.h"
#include "targets/nxd/nxd_target.h"
#include "targets/nxdt/nxdt_target.h"

namespace trnplan::targets {

const std::vector<const planner::Target*>& all() {
  static const std::vector<const planner::Target*> targets = {&nxdt(), &nemo_megatron(), &nxd()};
  return targets;
}

const planner::Target& standard() {
  return *all().front();
}

const planner::Target& of(const models::Software& software) {
  const planner::Target* target = find(software.framework);
  return target != nullptr ? *target : standard();
}

const planner::Target* find(std::string_view name) {
  for (const planner::Target* target : all()) {
    if (target->name() == name) return target;
  }
  return nullptr;
}

std::vector<std::string> names() {
  std::vector<std::string> words;
  for (const planner::Target* target : all()) words.emplace_back(target->name());
  return words;
}

}  // namespace trnplan::targets
