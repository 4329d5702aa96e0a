#include "api/machine_change.h"

#include <memory>

#include <fmt/format.h>

#include "api/predictor.h"
#include "api/resolve.h"
#include "planner/plan/strategy_grammar.h"

namespace trnplan::api {

namespace {

std::optional<MachineChange::Side> side_of(const calibrate::WhatRan& ran, const models::Profile& profile,
                                           std::optional<models::Strategy>* best_of = nullptr) {
  Remarks unsaid;  // the same on both sides, and said by plan
  const ResolvedJob resolved = resolve(ran.job, {},
                                       {.one_strategy = ran.strategy.has_value(),
                                        .refuses = false,
                                        .profile = std::make_shared<const models::Profile>(profile)},
                                       unsaid);
  const Predictor predictor(resolved);
  const auto side = [&](const models::Job& job, const planner::Plan& plan) {
    return MachineChange::Side{planner::strategy_grammar(job, plan.strategy), plan.report.step,
                               plan.report.low, plan.report.high};
  };
  if (ran.strategy) {
    const Prediction p = predictor.predict(resolved.job(), *ran.strategy);
    return p.judgement.plan ? std::optional(side(p.job, *p.judgement.plan)) : std::nullopt;
  }
  const Recommendation best =
      predictor.recommend(resolved.job(), {.layouts = 0, .explain = false, .why_nothing = false});
  const planner::Plan* plan = best.search.recommended_plan();
  if (plan != nullptr && best_of != nullptr) *best_of = plan->strategy;
  return plan != nullptr ? std::optional(side(planner::as_planned(best.stack->job, *plan), *plan))
                         : std::nullopt;
}

}  // namespace

MachineChange machine_change(const calibrate::WhatRan& ran, const models::Profile& before,
                             const models::Profile& after) {
  const models::Job& job = ran.job;
  MachineChange change{
      fmt::format("{}, {} x {}", job.architecture.name, job.cluster.nodes, job.cluster.instance.name),
      !ran.strategy.has_value(),
      {},
      {},
      {}};
  calibrate::WhatRan held = ran;
  change.before = side_of(ran, before, &held.strategy);
  change.after = side_of(ran, after);
  change.held = ran.strategy ? change.after : held.strategy ? side_of(held, after) : std::nullopt;
  return change;
}

}  // namespace trnplan::api
