#include "api/resolve.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/contradictions.h"
#include "api/learning_keys.h"
#include "api/observations.h"
#include "api/prices.h"
#include "models/collective/measured_network.h"
#include "planner/check/rules.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "topology/nics.h"

namespace trnplan::api {

namespace {

std::vector<topology::Instance> types_of(const models::Job& job) {
  return job.space.instances.empty() ? std::vector{job.cluster.instance} : job.space.instances;
}

/// Limits of the run. Without tokens they determine how far it gets, and refuse no plan.
planner::RunQuestion take_run_question(models::Job& job) {
  planner::RunQuestion q;
  q.tokens = job.training.tokens;
  if (job.deadline.value > 0) q.deadline = job.deadline;
  if (job.budget > 0) q.budget = job.budget;
  if (!q.asks_for_tokens()) return q;
  job.deadline = {};
  job.budget = 0;
  return q;
}

/// Adds a remark if prices of different kinds decide between the types.
void remark_prices(const models::Job& job, Remarks& remarks) {
  if (job.objective == models::Objective::step_time && !(job.budget > 0)) return;
  std::set<std::string> kinds;
  std::vector<std::string> named;
  for (const topology::Instance& type : types_of(job)) {
    const topology::Price* price = type.price();
    const std::string kind = price == nullptr ? "not known" : topology::price_words(price->kind);
    if (kinds.insert(kind).second) named.push_back(fmt::format("{} {}", type.name, kind));
  }
  if (kinds.size() < 2) return;
  remarks.add(
      fmt::format("the prices are of different kinds ({}), which do not say which type is cheaper; "
                  "state them alike with --price TYPE=USD",
                  fmt::join(named, ", ")));
}

/// Option or key of the software that the machine does not run.
bool trains_on_none(const planner::Target* target, const std::vector<topology::Instance>& types) {
  return target != nullptr && std::none_of(types.begin(), types.end(), [&](const topology::Instance& i) {
           return target->trains_on(i.traits);
         });
}

}  // namespace

ResolvedJob::ResolvedJob(io::Catalog catalog, io::JobReading reading, const Asked& asked,
                         const ResolveOptions& options, Remarks& remarks)
    : catalog_(std::move(catalog)), reading_(std::move(reading)) {
  choice_ = {targets::find(asked.target), reading_.places.contains("pin.framework"),
             reading_.places.contains("training.precision")};
  if (options.one_strategy) settle(reading_.job, remarks);
  resolve_machines(asked, options, remarks);
  refuse(asked, options);
  run_ = take_run_question(reading_.job);
  observations_ = load_observations(asked.profile);
  remark_choice(options, remarks);
}

void ResolvedJob::resolve_machines(const Asked& asked, const ResolveOptions& options, Remarks& remarks) {
  const models::Profile stated = options.profile ? *options.profile : load_profile(catalog_, asked.profile);
  const bool given = options.profile || !asked.profile.empty();
  const std::vector<topology::Instance> types = types_of(reading_.job);
  if (!options.compares) {
    refuse_mixed_machines(asked.job.job, reading_, [&](const topology::Instance& type) {
      Remarks unsaid;
      return profile_for(catalog_, stated, false, type, unsaid).name;
    });
  }
  for (const topology::Instance& type : types) {
    if (machines_.contains(type.name)) continue;
    Machine& machine = machines_[type.name];
    machine.profile = std::make_shared<const models::Profile>(
        planner::times_steps_on(type) ? profile_for(catalog_, stated, given, type, remarks) : stated);
    models::Job at = reading_.job;
    at.cluster.instance = type;
    machine.stacks = stacks_on(catalog_.searched_stacks(), at, choice_);
    if (planner::times_steps_on(type)) remark_family(catalog_, *machine.profile, type, remarks);
  }
}

void ResolvedJob::refuse(const Asked& asked, const ResolveOptions& options) {
  if (!options.refuses) return;
  const std::vector<topology::Instance> types = types_of(reading_.job);
  const bool named = choice_.target != nullptr;
  const planner::Target* stated = named ? choice_.target : targets::find(reading_.job.software.framework);
  if (trains_on_none(stated, types)) refuse_other_machines(asked.job.job, reading_, *stated, named);
  refuse_other_loop(asked.job.job, reading_, types);
  if (options.one_strategy) return;
  std::vector<JobChoice> choices;
  for (const models::Job& at : clusters_of(reading_.job)) {
    for (const StackRef& s : stacks(at)) choices.push_back({s->job, s->stack.target});
  }
  refuse_contradictions(asked.job.job, reading_, choices);
  if (!options.writes) return;
  // A stack that cannot express the job's settings of learning and checkpoints is not searched if another
  // can.
  std::optional<InputError> why;
  for (auto& [name, machine] : machines_) {
    std::vector<Stack> able;
    for (const Stack& s : machine.stacks) {
      try {
        if (s.target != nullptr) refuse_learning_keys(reading_, *s.target);
        able.push_back(s);
      } catch (const InputError& e) {
        if (!why) why = e;
      }
    }
    if (able.empty() && why) throw *why;
    machine.stacks = std::move(able);
  }
}

void ResolvedJob::remark_sites(Remarks& remarks) const {
  models::Job at = reading_.job;
  for (const topology::Instance& type : types_of(reading_.job)) {
    at.cluster.instance = type;
    for (const Stack& stack : machine(type).stacks) {
      const models::Profile& profile = profile_on(type);
      const models::Job runs = on_stack(at, stack, choice_, profile);
      const std::string& release = runs.software.release;
      if (release != at.software.release)
        remarks.add(
            fmt::format("the release of {} is not stated: {}, which {} has learnt, is assumed on {}; state "
                        "another with --release",
                        printable(runs.software.framework, 30), printable(release, 20), profile.name,
                        type.name),
            "release");
      if (runs.all_reduce && at_known_site(profile, runs))
        remarks.add(
            fmt::format("the measured all-reduce is not used: {} has learnt steps of {} on {}, which hold "
                        "the network of that cluster",
                        profile.name, printable(models::stack_name(runs.software.framework, release), 50),
                        type.name),
            "profile");
    }
  }
}

void ResolvedJob::remark_choice(const ResolveOptions& options, Remarks& remarks) const {
  const std::string& software = reading_.job.software.framework;
  if (!options.compares) remark_prices(reading_.job, remarks);
  remark_sites(remarks);
  std::vector<std::pair<std::string, std::vector<std::string>>> said;  // sentence, machines
  for (const auto& [name, machine] : machines_) {
    if (machine.stacks.front().stated || options.loop_stated) continue;
    const std::string why = software.empty() ? "software.framework is not stated"
                                             : fmt::format("software.framework {} does not train on {}",
                                                           printable(software), name);
    std::vector<std::string_view> names;
    for (const Stack& s : machine.stacks) names.push_back(name_of(s));
    const bool one = names.size() == 1 || options.one_strategy;
    std::string text =
        fmt::format("{}: {} as {} run{} it", why, one ? "predicted" : "searched",
                    one ? fmt::format("{}", names.front()) : fmt::format("{}", fmt::join(names, " and ")),
                    one ? "s" : "");
    const auto same =
        std::find_if(said.begin(), said.end(), [&](const auto& other) { return other.first == text; });
    if (same == said.end())
      said.push_back({std::move(text), {name}});
    else
      same->second.push_back(name);
  }
  if (said.empty()) return;
  std::string all;
  for (const auto& [text, names] : said) {
    all += (all.empty() ? "" : "; ") + text;
    if (machines_.size() > 1 && said.size() > 1) all += fmt::format(" on {}", fmt::join(names, ", "));
  }
  remarks.add(std::move(all), "stack");
}

const ResolvedJob::Machine& ResolvedJob::machine(const topology::Instance& type) const {
  return machines_.at(type.name);
}

const models::Profile& ResolvedJob::profile_on(const topology::Instance& type) const {
  return *machine(type).profile;
}

namespace {

/// True if the cluster can have the job's measured all-reduce.
bool can_reach(const models::Profile& profile, const models::Job& job) {
  try {
    static_cast<void>(models::in_measured_network(profile, job));
    return true;
  } catch (const models::UnusableMeasurement&) {
    return false;
  }
}

/// Names in a fault of a bandwidth beyond the network an oversubscription or a changed number of the machine without
/// which the cluster could have it.
void name_what_limits(Diagnostic& fault, const models::Profile& profile, models::Job job) {
  topology::Instance& machine = job.cluster.instance;
  const std::vector<std::string> changes = machine.changes;
  const double oversubscribed = topology::oversubscription_of(job.cluster);
  constexpr std::string_view kKey = "oversubscription=";
  const auto set = std::find_if(changes.begin(), changes.end(),
                                [&](const std::string& change) { return change.starts_with(kKey); });
  job.cluster.oversubscription = machine.oversubscription = 1;
  if (oversubscribed > 1 && can_reach(profile, job)) {
    fault.problem += fmt::format(", with an oversubscription of {:g}; without, they can", oversubscribed);
    fault.fix = fmt::format(
        "{}, if the network that was measured has none; else {}",
        set == changes.end() ? "state an oversubscription of 1" : "leave out --set " + printable(*set, 60),
        fault.fix);
    return;
  }
  if (changes.empty()) return;
  machine = io::Catalog::standard().instance(machine.name);  // the job's own has the changes
  machine.oversubscription = 1;
  if (!can_reach(profile, job)) return;
  const std::string all = printable(fmt::format("{}", fmt::join(changes, ", ")), 200);
  fault.problem += fmt::format(", with {}; without, they can", all);
  fault.fix = fmt::format("leave out {}, if the machine that was measured is as in the catalogue; else {}",
                          all, fault.fix);
}

}  // namespace

std::shared_ptr<const models::Profile> ResolvedJob::profile_of(const models::Job& on_stack) const {
  const std::shared_ptr<const models::Profile>& usual = machine(on_stack.cluster.instance).profile;
  if (!on_stack.all_reduce || !planner::times_steps_on(on_stack.cluster.instance)) return usual;
  try {
    auto measured = std::make_shared<const models::Profile>(models::in_measured_network(*usual, on_stack));
    // The network of a cluster is in the steps that ran there already.
    return at_known_site(*usual, on_stack) ? usual : std::move(measured);
  } catch (const models::UnusableMeasurement& e) {
    Diagnostic fault{{}, "network", e.what(), e.fix};
    for (const char* key : {"cluster.all_reduce_gbps", "cluster.measured"}) {
      const auto at = reading_.places.find(key);
      if (at == reading_.places.end()) continue;
      fault.at = at->second;
      fault.key = stated_as(key, fault.at.file);
    }
    if (reading_.measured_row) {
      fault.at = *reading_.measured_row;
      fault.key = "busbw";
    }
    if (e.beyond) name_what_limits(fault, *usual, on_stack);
    throw InputError(fault);
  }
}

StackRef ResolvedJob::on(const models::Job& at, const Stack& stack) const {
  models::Job job = on_stack(at, stack, choice_, *machine(at.cluster.instance).profile);
  std::shared_ptr<const models::Profile> profile = profile_of(job);
  return std::make_shared<const ResolvedStack>(ResolvedStack{std::move(job), stack, std::move(profile)});
}

std::vector<StackRef> ResolvedJob::stacks(const models::Job& at) const {
  std::vector<StackRef> all;
  for (const Stack& stack : machine(at.cluster.instance).stacks) all.push_back(on(at, stack));
  return all;
}

void ResolvedJob::remark_other_loop(const models::Strategy& strategy, Remarks& remarks) const {
  const Stack& stated = machine(reading_.job.cluster.instance).stacks.front();
  if (!stated.stated || stated.loop == strategy.framework) return;
  const StackRef runs = stack_of(reading_.job, strategy);
  remarks.add(fmt::format("the strategy is one of {}, the job states {}: predicted as {} runs it",
                          name_of(runs->stack), name_of(stated), name_of(runs->stack)),
              "stack");
}

StackRef ResolvedJob::stack_of(const models::Job& at, const models::Strategy& strategy) const {
  const std::vector<Stack>& known = machine(at.cluster.instance).stacks;
  const auto runs =
      std::find_if(known.begin(), known.end(), [&](const Stack& s) { return s.loop == strategy.framework; });
  if (runs != known.end()) return on(at, *runs);
  return on(at,
            {targets::that_trains(at.cluster.instance.traits, strategy.framework), strategy.framework, true});
}

ResolvedJob resolve(models::Job job, const Asked& asked, const ResolveOptions& options, Remarks& remarks) {
  io::JobReading reading;
  reading.job = std::move(job);
  reading.places["training.precision"] = {};  // stated, in any place
  return {io::Catalog::standard(), std::move(reading), asked, options, remarks};
}

ResolvedJob resolve(const Asked& asked, const ResolveOptions& options, Remarks& remarks) {
  io::Catalog catalog = io::Catalog::standard().with_hardware(io::hardware_settings_from(asked.hardware));
  JobInput input = asked.job;
  input.options.target = asked.target;
  io::JobReading reading = load_job(input, catalog, remarks);
  if (options.amend) options.amend(reading, catalog);
  if (options.refuses) refuse_unpriced(reading);
  catalog.refuse_unset(reading.job.cluster.instance);
  for (const topology::Instance& type : reading.job.space.instances) catalog.refuse_unset(type);
  return {std::move(catalog), std::move(reading), asked, options, remarks};
}

}  // namespace trnplan::api
