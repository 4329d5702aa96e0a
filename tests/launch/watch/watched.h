// Reports on logs of runs, for tests.
#pragma once

#include <algorithm>
#include <string>

#include "launch/watch/watch.h"
#include "planner/check/judge.h"
#include "tests/launch/watch/find_plans.h"
#include "tests/models/setup.h"
#include "tests/training_logs.h"

namespace trnplan {

/// Nothing is known of what ran.
inline launch::WatchContext nothing_known() {
  launch::WatchContext context;
  context.ran = {job_of("llama3-8b", 1, 8192, 1024), std::nullopt, true};
  return context;
}

/// A plan of Llama-3 8B on one node, predicted by the data sheet's profile.
inline launch::WatchContext planned(const char* strategy) {
  launch::WatchContext context;
  io::PlanFile plan;
  plan.job = job_of("llama3-8b", 1, 8192, 1024);
  plan.strategy = strategy_of(plan.job, strategy);
  const auto judged = planner::judge(plan.job, plan.strategy, datasheet());
  plan.step = judged.plan->report.step;
  plan.low = judged.plan->report.low;
  plan.high = judged.plan->report.high;
  plan.peak = judged.plan->memory.worst().peak();
  plan.usd_per_hour = 21.5;
  context.plan = plan;
  context.ran = {plan.job, plan.strategy, false};
  return context;
}

inline io::WatchReport watch(const std::string& text, const launch::WatchContext& context = nothing_known()) {
  return launch::watch(text, "train.out", context, datasheet(), launch::find_fastest);
}

inline bool alarmed(const io::WatchReport& r, const std::string& kind) {
  return std::any_of(r.alarms.begin(), r.alarms.end(), [&](const auto& a) { return a.kind == kind; });
}

}  // namespace trnplan
