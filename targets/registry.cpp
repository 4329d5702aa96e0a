#include "targets/registry.h"

#include <algorithm>

#include "models/framework/framework.h"
#include "targets/bert/bert_target.h"
#include "targets/flags/shell_follower.h"
#include "targets/megatron/megatron_target.h"
#include "targets/nemo_megatron/nemo_megatron_target.h"
#include "targets/nxd/nxd_target.h"
#include "targets/nxdt/nxdt_target.h"
#include "targets/torchtitan/torchtitan_target.h"
#include "text/document.h"

namespace trnplan::targets {

const std::vector<const planner::Target*>& all() {
  static const std::vector<const planner::Target*> targets = {&nxdt(), &nemo_megatron(), &nxd(),
                                                              &bert(), &megatron(),      &torchtitan()};
  return targets;
}

const planner::Target& standard() {
  return *all().front();
}

const planner::Target& of(const models::Job& job) {
  if (const planner::Target* target = find(job.software.framework)) return *target;
  const planner::Target* target = that_trains(job.cluster.instance.traits, models::framework_stated_by(job));
  return target != nullptr ? *target : standard();
}

const planner::Target* that_trains(const topology::Traits& machine, std::string_view framework) {
  for (const planner::Target* target : all()) {
    const std::vector<std::string_view> loops = target->loops();
    if (target->trains_on(machine) && std::find(loops.begin(), loops.end(), framework) != loops.end())
      return target;
  }
  return nullptr;
}

const planner::Target* whose(const planner::ConfigFile& file) {
  bool manifest = false;
  try {
    const Node root = parse_document(file.text, file.name);
    for (const planner::Target* target : all()) {
      if (target->recognises(root)) return target;
    }
    manifest = root.find("apiVersion") != nullptr;
    if (root.is_map() && !manifest) return nullptr;
  } catch (const InputError&) {
  }
  const bool python = file.name.ends_with(".py");
  std::vector<std::string> words;
  if (manifest || python) {
    words.push_back(file.text);
  } else {
    try {
      for (const ShellCommand& command : follow_shell(file.text, file.name).commands) {
        for (const ShellWord& word : command) words.push_back(word.text);
      }
    } catch (const InputError&) {
      return nullptr;
    }
  }
  for (const planner::Target* target : all()) {
    for (const std::string_view program : target->programs()) {
      const auto names = [&](const std::string& word) { return word.find(program) != std::string::npos; };
      if (std::any_of(words.begin(), words.end(), names)) return target;
    }
  }
  return nullptr;
}

const planner::Target* find(std::string_view name) {
  for (const planner::Target* target : all()) {
    if (target->name() == name) return target;
  }
  return nullptr;
}

void take_defaults(models::Job& job, const planner::Target& target, bool precision_stated) {
  const planner::TargetDefaults d = target.defaults();
  const topology::Traits& machine = job.cluster.instance.traits;
  if (!job.pin.framework && !target.framework().empty() && target.trains_on(machine) &&
      models::usual_framework(machine) != target.framework())
    job.pin.framework = models::stated_framework(target.framework());
  const bool open = !precision_stated && !job.space.precision;
  if (open && job.training.precision == models::Training{}.precision) job.training.precision = d.precision;
  if (!job.pin.zero1 && !job.space.zero1 && !d.zero1) job.pin.zero1 = false;
  job.architecture.dropout = job.architecture.dropout || d.dropout;
}

std::string ending_on(const topology::Traits& machine, const models::NeuronReleases& known) {
  std::string first;
  for (const planner::Target* target : all()) {
    if (!target->trains_on(machine)) continue;
    const std::string ending = planner::ending_of(*target, machine, known);
    if (ending.empty()) return "";
    if (first.empty()) first = ending;
  }
  return first;
}

std::vector<std::string> names() {
  std::vector<std::string> words;
  for (const planner::Target* target : all()) words.emplace_back(target->name());
  return words;
}

}  // namespace trnplan::targets
