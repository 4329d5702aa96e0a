#include "planner/plan/strategy_grammar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/framework/framework.h"
#include "planner/plan/space.h"

namespace trnplan::planner {

using models::Job;
using models::Strategy;

namespace {

/// What is taken for `s` by a job with these pins that states the degrees and flash attention alone.
Strategy default_beside(Job job, const models::Pin& pin, const Strategy& s) {
  job.pin = pin;
  job.pin.tensor_parallel = s.tensor_parallel;
  job.pin.pipeline_parallel = s.pipeline_parallel;
  job.pin.virtual_pipeline = s.virtual_pipeline;
  job.pin.context_parallel = s.context_parallel;
  job.pin.flash_attention = s.flash_attention;
  return models::canonical(default_strategy(job));
}

}  // namespace

std::string strategy_grammar(const Job& job, const Strategy& s) {
  Job unpinned = job;
  unpinned.pin = {};
  const Strategy bare[] = {default_strategy(job), default_strategy(unpinned)};
  const Strategy defaults[] = {default_beside(job, job.pin, s), default_beside(job, {}, s)};
  std::string text = fmt::format("tp={}", s.tensor_parallel);
  const auto state = [&](const char* key, auto Strategy::*field, const Strategy(&of)[2]) {
    if (s.*field != of[0].*field || s.*field != of[1].*field) text += fmt::format(",{}={}", key, s.*field);
  };
  state("pp", &Strategy::pipeline_parallel, bare);
  state("vpp", &Strategy::virtual_pipeline, bare);
  state("cp", &Strategy::context_parallel, bare);
  state("ep", &Strategy::expert_parallel, defaults);
  state("dp", &Strategy::data_parallel, defaults);
  state("mbs", &Strategy::micro_batch, defaults);
  state("sp", &Strategy::sequence_parallel, defaults);
  const std::vector<models::Sharding> shardings = models::framework_of(s).shardings();
  if (s.zero1 && s.sharding != shardings.front())
    text += fmt::format(",shard={}", to_string(s.sharding));
  else
    state("zero1", &Strategy::zero1, defaults);
  if (s.shard_ranks > 0) text += fmt::format(",shard_degree={}", s.shard_ranks);
  state("flash", &Strategy::flash_attention, bare);
  state("kv", &Strategy::kv_replicator, defaults);
  state("bucket", &Strategy::bucket_mb, defaults);
  if (s.recompute != defaults[0].recompute || s.recompute != defaults[1].recompute)
    text += ",recompute=" + to_string(s.recompute);
  if (s.precision != job.training.precision) text += fmt::format(",precision={}", to_string(s.precision));
  Strategy plain = s;
  plain.schedule = models::Schedule::one_f_one_b;
  if (models::settled_schedule(plain) != models::settled_schedule(s))
    text += fmt::format(",schedule={}", to_string(s.schedule));
  if (!s.framework.empty()) text += fmt::format(",framework={}", s.framework);
  if (!s.pipeline_cuts.empty()) text += fmt::format(",cuts={}", fmt::join(s.pipeline_cuts, "/"));
  return text;
}

std::string strategy_grammar(const Job& job, const Plan& plan) {
  Job on = settled(job, plan);
  on.training.precision = job.training.precision;
  return strategy_grammar(on, plan.strategy);
}

}  // namespace trnplan::planner
