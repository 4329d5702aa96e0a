#include "api/support.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/resolve.h"
#include "io/catalog/catalog.h"
#include "io/input/readers.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/submit/schedulers.h"
#include "models/step/step.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/plan/target.h"
#include "targets/registry.h"

namespace trnplan::api {

namespace {

/// Sequence for a model without published training: short enough for every model's positions.
constexpr const char *kSequence = "512", *kBatch = "1024";

Asked asked_of(const std::string& model, const std::string& type,
               const std::optional<io::PublishedTraining>& published) {
  Asked asked;
  asked.job.job = model;
  asked.job.options.instance = type;
  if (published) return asked;
  asked.job.options.sequence = kSequence;
  asked.job.options.global_batch = kBatch;
  return asked;
}

/// Reason why the target can express no strategy of the model, or starts none; "" if it does.
std::string lack_of(const planner::Target& target, const models::Job& job, const models::Profile& profile) {
  const StackChoice choice{&target};
  const models::Job own = on_stack(job, stacks_on({}, job, choice).front(), choice, profile);
  const models::Strategy usual = planner::default_strategy(own);
  if (const auto broken = planner::contradictions(own, &target); !broken.empty())
    return broken.front().message;
  if (target.expresses(own, usual)) return "";
  if (!planner::beyond_mending(target, own, usual) && !planner::is_beyond_target(own, &target)) return "";
  return planner::inexpressible(target, own, usual).value_or("none of its strategies");
}

Support support_of(const Asked& asked, const std::string& model) {
  Remarks unsaid;
  const ResolvedJob resolved = resolve(asked, {.refuses = false}, unsaid);
  const models::Job& job = resolved.job();
  const topology::Instance& machine = job.cluster.instance;
  Support s{model, machine.name, machine.family};
  if (!planner::times_steps_on(machine)) {
    s.why_not = planner::why_untimed(machine);
  } else if (const auto broken = planner::not_modelled(job, planner::default_strategy(job))) {
    s.why_not = broken->message;
  } else {
    s.timed = true;
    try {
      s.planned = !resolve(asked, {}, unsaid).stacks(job).empty();
    } catch (const InputError& e) {
      s.why_not = e.faults().front().problem;
    }
  }
  for (const planner::Target* target : targets::all()) {
    if (!target->trains_on(machine.traits)) continue;
    s.targets.push_back({std::string(target->name()), lack_of(*target, job, resolved.profile_on(machine)),
                         planner::ending_of(*target, machine.traits, *job.neuron_releases)});
    const bool written = s.planned && s.targets.back().why_not.empty();
    if (!written || !launch::no_folder_for(machine).empty()) continue;
    for (const launch::Scheduler* scheduler : launch::schedulers()) {
      std::string name(scheduler->name());
      if (scheduler->runs_on(machine, *target) &&
          std::find(s.launched.begin(), s.launched.end(), name) == s.launched.end())
        s.launched.push_back(std::move(name));
    }
  }
  return s;
}

}  // namespace

std::vector<std::string> Support::written() const {
  std::vector<std::string> names;
  for (const SupportedTarget& t : targets)
    if (planned && t.why_not.empty()) names.push_back(t.name);
  return names;
}

SupportResult support(const SupportRequest& request) {
  const io::Catalog catalog = io::Catalog::standard();
  std::vector<std::string> models = catalog.models(), types = catalog.instances();
  const bool type_alone =
      request.instance.empty() && std::find(types.begin(), types.end(), request.model) != types.end();
  const std::string& type_asked = type_alone ? request.model : request.instance;
  if (!type_alone && !request.model.empty())
    models = {io::known_model(request.model, catalog).value_or(request.model)};
  if (!type_asked.empty()) types = {load_instance(catalog, type_asked).name};
  SupportResult result;
  for (const std::string& model : models) {
    const bool known = io::known_model(model, catalog).has_value();
    const auto published = known ? catalog.training(model) : std::nullopt;
    for (const std::string& type : types)
      result.pairs.push_back(support_of(asked_of(model, type, published), model));
  }
  return result;
}

}  // namespace trnplan::api
