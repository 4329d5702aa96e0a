#include "api/explain_profile.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "api/predictor.h"
#include "api/what_ran.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

const SourcePos kCommandLine{"command line", 0, 0};

/// The profile that the parameters had before the fit; nullopt if the profile states none.
std::optional<models::Profile> prior_of(const io::Catalog& catalog, const models::Profile& profile) {
  const std::string& name = profile.calibration ? profile.calibration->prior : profile.base;
  if (name.empty() || name == profile.name) return std::nullopt;
  return catalog.profile(name);
}

std::optional<calibrate::WhatRan> plan_of(const ExplainProfileRequest& r, const io::Catalog& catalog,
                                          Remarks& remarks) {
  const bool stated = !r.job.empty() || !r.strategy.empty() || !r.config.empty();
  if (!r.run.empty() && stated)
    throw InputError({kCommandLine, "--run", "--job, --strategy or --config states a plan as well",
                      "leave one of the two out"});
  if (!r.run.empty()) return ran_of_folder(r.run, catalog, remarks);
  std::optional<calibrate::WhatRan> ran =
      what_ran({r.job, r.strategy, r.config, r.instance, r.nodes}, catalog, remarks);
  if (ran && !ran->strategy)
    throw InputError(
        {kCommandLine, "--job", "a job alone is no plan", "add --strategy, for example tp=8,pp=4"});
  return ran;
}

/// Throws InputError if the plan has no step.
Prediction step_of(const calibrate::WhatRan& plan, const std::string& profile, Remarks& remarks) {
  Asked asked;
  asked.profile = profile;
  const ResolvedJob resolved = resolve(plan.job, asked, {.one_strategy = true}, remarks);
  Prediction p = Predictor(resolved).predict(resolved.job(), *plan.strategy);
  if (!p.judgement.plan)
    throw InputError(
        {kCommandLine, "--strategy", planner::why_no_plan(p.judgement), "explain a plan that runs"});
  return p;
}

}  // namespace

models::ExplainedProfile explain_profile(const ExplainProfileRequest& r, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, r.profile);
  std::optional<models::Profile> prior = prior_of(catalog, profile);
  std::optional<models::Profile> other;
  if (!r.against.empty()) {
    other = load_profile(catalog, r.against);
    if (other->schema != profile.schema)
      throw InputError({kCommandLine, "--against",
                        fmt::format("{} has the parameters of {}, {} those of {}", printable(r.against, 200),
                                    other->schema->name(), printable(r.profile, 200), profile.schema->name()),
                        "compare profiles of one kind of machine"});
  }
  const std::optional<calibrate::WhatRan> plan = plan_of(r, catalog, remarks);
  if (!plan) return models::explained(profile, prior ? &*prior : nullptr, other ? &*other : nullptr);
  const Prediction p = step_of(*plan, r.profile, remarks);
  if (p.stack->profile->name != profile.name)
    throw InputError({kCommandLine, "--explain",
                      fmt::format("{} is timed with {}, not with {}", p.job.cluster.instance.name,
                                  p.stack->profile->name, profile.name),
                      "explain that profile, or a plan on " +
                          (profile.instance.empty() ? std::string("its machine") : profile.instance)});
  remark_release(*p.stack->profile, p.job, remarks);
  if (const std::string beyond = beyond_the_fit("the plan", *p.stack->profile, p.job, *plan->strategy);
      !beyond.empty())
    remarks.add(beyond, "beyond-fit");
  // A loop's and a cluster's own values replace those of all profiles alike.
  if (prior) prior = models::with_factors(*prior, p.job);
  std::optional<Prediction> by_other;
  if (other) {
    Remarks unsaid;
    by_other = step_of(*plan, r.against, unsaid);
    other = models::with_factors(*by_other->stack->profile, by_other->job);
  }
  models::ExplainedProfile out =
      models::explained(profile, prior ? &*prior : nullptr, other ? &*other : nullptr);
  models::add_step(out, models::with_factors(*p.stack->profile, p.job), p.job, p.judgement.plan->strategy,
                   p.judgement.plan->report);
  out.plan->of = fmt::format("{}, {} x {}, {}", p.job.architecture.name, p.job.cluster.nodes,
                             p.job.cluster.instance.name, planner::strategy_grammar(p.job, *plan->strategy));
  if (by_other) out.plan->other = by_other->judgement.plan->report.step;
  return out;
}

}  // namespace trnplan::api
