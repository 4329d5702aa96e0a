#include "api/watch_context.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/predictor.h"
#include "io/input/plan_file.h"
#include "models/job/strategy.h"

namespace trnplan::api {

namespace {

/// Job that is assumed if the plan that ran is unknown: NxDT's example of one node
/// (aws-neuron/neuronx-distributed-training@9169aa0 examples/conf/hf_llama3_8B_config.yaml).
launch::RanPlan assumed(const io::Catalog& catalog, const std::string& instance) {
  launch::RanPlan ran;
  ran.job.architecture = catalog.architecture(catalog.default_model());
  ran.machine_stated = !instance.empty();
  ran.job.cluster = {load_instance_or_usual(catalog, instance), 1};
  ran.job.training = {8192, 1024, 0, models::Precision::mixed_precision};
  ran.assumed = true;
  return ran;
}

/// A prediction of what ran, as a plan file has it.
struct Predicted {
  io::PlanFile plan;
  std::shared_ptr<const models::Profile> profile;
};

/// Plan file for a run without plan.json; nullopt, with the reasons, if it cannot be timed.
std::optional<Predicted> predicted(const models::Job& job, const models::Strategy& strategy,
                                   const std::string& profile, Remarks& remarks) {
  Remarks unsaid;
  const ResolvedJob resolved =
      resolve(job, {{}, "", profile}, {.one_strategy = true, .refuses = false}, unsaid);
  // What is assumed of the software, and what the profile knows or does not know.
  for (const Remark& r : unsaid.all()) {
    const auto* text = std::get_if<std::string>(&r);
    if (text == nullptr) continue;
    for (const char* id : {"[stack]", "[profile]", "[release]"})
      if (text->ends_with(id)) remarks.add(*text);
  }
  resolved.remark_other_loop(strategy, remarks);
  const Prediction p = Predictor(resolved).predict(resolved.job(), models::canonical(strategy));
  const planner::Judgement& judged = p.judgement;
  const char* what =
      judged.plan ? "the rules would have refused what ran: " : "no prediction to compare with: ";
  for (const planner::Violation& v : judged.broken) {
    if (judged.plan && v.doubtful) continue;
    remarks.add(fmt::format("{}{}: {}", what, v.rule, v.message));
  }
  if (!judged.plan) return std::nullopt;
  io::PlanFile plan;
  plan.job = p.job;
  plan.strategy = judged.plan->strategy;
  plan.step = judged.plan->report.step;
  plan.low = judged.plan->report.low;
  plan.high = judged.plan->report.high;
  plan.peak = judged.plan->memory.worst().peak();
  plan.usd_per_hour = judged.plan->usd_per_hour;
  plan.target = name_of(p.stack->stack);
  return Predicted{std::move(plan), p.stack->profile};
}

/// Remarks on doubtful parts of plan.json; returns its profile here, if it can be timed. The run is compared with
/// the prediction of a profile that is asked for, else with that of the file, which names none: another one is then
/// not a fault, only a remark.
std::shared_ptr<const models::Profile> doubt(io::PlanFile& plan, const std::string& file,
                                             const std::string& profile, Remarks& remarks) {
  if (!plan.version.empty() && !plan.unchanged)
    remarks.add(fmt::format("{} has been changed since trnplan {} wrote it", file, plan.version));
  Remarks unsaid;
  const std::optional<Predicted> anew = predicted(plan.job, plan.strategy, profile, unsaid);
  if (!anew) return nullptr;
  const Seconds step = anew->plan.step;
  if (!profile.empty()) {
    if (step.value != plan.step.value)
      remarks.add(
          fmt::format("{} says {:.4g} s a step, {} says {:.4g} s: the run is compared with the latter", file,
                      plan.step.value, anew->profile->name, step.value));
    plan.step = step;
    plan.low = anew->plan.low;
    plan.high = anew->plan.high;
    plan.peak = anew->plan.peak;
    return anew->profile;
  }
  if (step >= plan.low && step <= plan.high) return anew->profile;
  remarks.add(
      fmt::format("{} says {:.4g} s a step ({:.4g} to {:.4g}), but {:.4g} s is predicted here: it was made "
                  "with another profile or version, or was changed",
                  file, plan.step.value, plan.low.value, plan.high.value, step.value));
  return anew->profile;
}

}  // namespace

launch::FindPlans plan_finder(const std::string& name) {
  return [name](const models::Job& job, const models::Profile& profile, int most) {
    Remarks unsaid;
    const ResolvedJob resolved =
        resolve(job, {{}, "", name},
                {.refuses = false, .profile = std::make_shared<const models::Profile>(profile)}, unsaid);
    planner::SearchResult found =
        Predictor(resolved)
            .recommend(resolved.job(), {.top = most, .layouts = 0, .explain = false, .why_nothing = false})
            .search;
    const auto recommended = found.plans.begin() + static_cast<std::ptrdiff_t>(found.recommended);
    if (!found.plans.empty()) std::rotate(found.plans.begin(), recommended, recommended + 1);
    return std::move(found.plans);
  };
}

launch::WatchContext watched_context(const WatchedRun& options, const std::string& profile,
                                     const io::Catalog& catalog, Remarks& remarks) {
  launch::WatchContext context;
  static_cast<void>(load_instance_or_usual(catalog, options.instance));  // refused even if nothing needs it
  if (!options.plan.empty()) {
    if (!options.job.empty() || !options.config.empty()) {
      throw InputError(
          {{"command line", 0, 0}, "--plan", "--job or --config states what ran as well", "leave one out"});
    }
    if (!options.instance.empty() || options.nodes > 0)
      throw InputError({{"command line", 0, 0},
                        options.nodes > 0 ? "--nodes" : "--instance",
                        "the plan states the machine",
                        "leave it out with --plan"});
    context.plan = plan_of_folder(options.plan, catalog, remarks);
    context.ran = {context.plan->job, context.plan->strategy, false};
    context.profile = doubt(*context.plan, options.plan, profile, remarks);
    return context;
  }
  if (options.job.empty() && options.config.empty() && options.nodes > 0)
    throw InputError({{"command line", 0, 0},
                      "--nodes",
                      "there is no --job or --config for it",
                      "add --job JOB or --config FILE"});
  auto ran = what_ran(options, catalog, remarks);
  if (!ran) {
    context.ran = assumed(catalog, options.instance);
    return context;
  }
  settle(ran->job, remarks);
  context.ran = {ran->job, ran->strategy, false};
  if (ran->strategy) {
    if (auto known = predicted(ran->job, *ran->strategy, profile, remarks)) {
      context.plan = std::move(known->plan);
      context.profile = std::move(known->profile);
    }
  } else {
    remarks.add(
        "no prediction to compare with: state how the job ran with --strategy, for example --strategy "
        "tp=8,pp=4");
  }
  return context;
}

}  // namespace trnplan::api
