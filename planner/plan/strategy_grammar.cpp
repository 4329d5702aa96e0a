#include "planner/plan/strategy_grammar.h"

#include <stdexcept>

#include <fmt/format.h>

#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "planner/plan/space.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;
using models::StrategyKey;

namespace {

/// Default strategy of a job with these pins and the framework of `s`; with `degrees`, the job also states
/// the degrees and flash attention of `s`.
Strategy default_beside(Job job, const models::Pin& pin, const Strategy& s, bool degrees) {
  job.pin = pin;
  if (!s.framework.empty()) job.pin.framework = s.framework;
  if (degrees) {
    job.pin.tensor_parallel = s.tensor_parallel;
    job.pin.pipeline_parallel = s.pipeline_parallel;
    job.pin.virtual_pipeline = s.virtual_pipeline;
    job.pin.context_parallel = s.context_parallel;
    job.pin.flash_attention = s.flash_attention;
  }
  return models::canonical(default_strategy(job));
}

}  // namespace

std::string strategy_grammar(const Job& job, const Strategy& s) {
  const Strategy bare[] = {default_beside(job, job.pin, s, false), default_beside(job, {}, s, false)};
  const Strategy with_degrees[] = {default_beside(job, job.pin, s, true), default_beside(job, {}, s, true)};
  const bool shards_more = s.zero1 && s.sharding != models::framework_of(s).shardings().front();
  // Keys with a rule of their own.
  const auto told_by_rule = [&](const StrategyKey& key, bool differs) {
    if (key.name == "zero1") return !shards_more && differs;
    if (key.name == "sharding") return shards_more;
    if (key.name == "expert_tensor_parallel") return s.expert_tensor_parallel > 0;
    if (key.name == "shard_degree") return s.shard_ranks > 0;
    if (key.name == "framework") return !s.framework.empty();
    if (key.name == "tensor_parallel") return true;
    throw std::logic_error("no rule says when a strategy states " + std::string(key.name));
  };
  std::string text;
  for (const StrategyKey& key : models::strategy_keys()) {
    const models::StrategyValue value = key.stated(s);
    const Strategy(&defaults)[2] = key.without == StrategyKey::Default::nothing ? bare : with_degrees;
    const bool differs = value != key.stated(defaults[0]) || value != key.stated(defaults[1]);
    if (key.without == StrategyKey::Default::own ? !told_by_rule(key, differs) : !differs) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key.brief, models::text_of(value));
  }
  return text;
}

std::string strategy_grammar(const Job& job, const Plan& plan) {
  Job on = as_planned(job, plan);
  on.training.precision = job.training.precision;
  return strategy_grammar(on, plan.strategy);
}

}  // namespace trnplan::planner
