#include "tests/second_opinion/random_jobs.h"

#include <algorithm>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/framework.h"
#include "planner/plan/space.h"
#include "targets/registry.h"
#include "tests/models/setup.h"
#include "units/index.h"

namespace trnplan {

using models::Strategy;

namespace {

/// The same numbers with every compiler.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int below(std::size_t n) {
    return boost::random::uniform_int_distribution<int>(0, static_cast<int>(n) - 1)(random_);
  }
  bool once_in(int n) { return below(at(n)) == 0; }
  template <class T>
  T of(const std::vector<T>& all) {
    return all[at(below(all.size()))];
  }
  int of(std::initializer_list<int> all) { return of(std::vector<int>(all)); }

 private:
  boost::random::mt19937 random_;
};

/// A model of the catalogue cut short, and one in some with a feature that it does not have.
models::Architecture random_model(Dice& dice) {
  const std::string mixture = "mixtral-8x7b";
  models::Architecture a =
      test_catalog().architecture(dice.once_in(4) ? mixture : dice.of(test_catalog().models()));
  a.layers = dice.of({4, 5, 6, 8, 8, 11, 12});
  a.experts = std::min(a.experts, 8);
  if (a.blocks.sinks && !dice.once_in(4)) {  // no target can write them
    a.blocks = {};
    a.rope_scaling.clear();
  }
  if (dice.once_in(4)) a.tied_embeddings = !a.tied_embeddings;
  if (dice.once_in(6)) a.qk_norm = true;
  if (dice.once_in(8)) a.qkv_bias = true;
  if (dice.once_in(6)) a.vocabulary = 50257;
  if (dice.once_in(8)) a.intermediate = 11000;
  if (a.causal && dice.once_in(6)) a.sliding_window = 1024;
  if (a.sliding_window > 0 && dice.once_in(2)) a.sliding_window_pattern = dice.of({1, 2, 3, 6});
  const int factor = dice.of({-1, -1, 0, 2, 8});
  if (a.experts > 0 && factor >= 0) a.capacity_factor = factor;
  a.flash_attention = dice.once_in(2);
  return a;
}

std::vector<std::string_view> frameworks_on(const topology::Traits& machine) {
  std::vector<std::string_view> all;
  for (const std::string_view name : models::framework_names()) {
    Strategy s;
    s.framework = models::stated_framework(name);
    if (models::framework_of(s).trains_on(machine)) all.push_back(s.framework);
  }
  return all;
}

models::Recompute random_recompute(Dice& dice) {
  const std::vector<models::Recompute> all = {{},
                                              {.core_attention = true},
                                              {.mlp = true},
                                              {.rms_norm = true},
                                              {.activation_multiply = true},
                                              {.core_attention = true, .mlp = true, .rms_norm = true},
                                              {.full = true},
                                              {.full = true, .every = 2},
                                              {.alternate = true}};
  return dice.of(all);
}

models::Precision random_precision(Dice& dice, bool gpu) {
  using enum models::Precision;
  if (!dice.once_in(4)) return mixed_precision;
  return dice.of(gpu ? std::vector{fp8, fp8_param_gather, fp32, autocast}
                     : std::vector{bf16_sr, fp32, manual});
}

/// What keeps a search short: one kind of attention and of recomputation, one micro-batch.
void pin_some(models::Job& job, Dice& dice) {
  job.pin.zero1 = !dice.once_in(4);
  job.pin.flash_attention = job.architecture.flash_attention;
  if (!dice.once_in(3)) job.pin.micro_batch = dice.of({1, 1, 2});
  if (!dice.once_in(3)) job.pin.sequence_parallel = dice.once_in(2);
  if (dice.once_in(4) && job.architecture.flash_attention && job.architecture.experts == 0)
    job.pin.context_parallel = 2;
  if (dice.once_in(3)) return;
  const std::vector<models::Recompute> any = {{}, {.core_attention = true}, {.full = true}};
  job.pin.recompute = dice.of(any);
}

}  // namespace

const std::vector<topology::Instance>& timed_machines() {
  static const std::vector<topology::Instance> machines = [] {
    std::vector<topology::Instance> all;
    for (const std::string& name : test_catalog().instances()) {
      topology::Instance one = test_catalog().instance(name);
      if (one.traits.step_time) all.push_back(std::move(one));
    }
    return all;
  }();
  return machines;
}

RandomJob random_job(unsigned seed) {
  Dice dice(seed);
  const std::vector<topology::Instance>& machines = timed_machines();
  const topology::Instance& machine = machines[seed % machines.size()];
  const bool gpu = machine.traits.accelerator == topology::Accelerator::gpu;
  RandomJob r;
  r.profile = test_catalog().profile(machine.family);
  models::Job& job = r.job;
  job.architecture = random_model(dice);
  constexpr int kFewCores = 32;
  const int round = static_cast<int>(seed / machines.size());
  job.cluster = {machine, machine.cores() <= kFewCores ? 1 + round % 2 : 1};
  const int sequence = gpu ? dice.of({2048, 4096, 2050, 2056}) : dice.of({2048, 4096, 4096, 16384, 3072});
  job.training = {sequence, dice.of({16, 32, 64, 96}), 0, random_precision(dice, gpu)};
  if (job.architecture.learned_positions && !dice.once_in(4))
    job.training.sequence = std::min(job.training.sequence, job.architecture.max_positions);
  job.pin.framework = dice.of(frameworks_on(machine.traits));
  pin_some(job, dice);
  std::vector<const planner::Target*> all{nullptr};
  for (const std::string& name : targets::names()) {
    if (targets::find(name)->trains_on(machine.traits)) all.push_back(targets::find(name));
  }
  r.target = dice.of(all);
  if (r.target != nullptr) job.software.framework = r.target->name();
  return r;
}

namespace {

/// One change that keeps degrees positive and may break a rule.
void change(Strategy& s, const models::Job& job, Dice& dice) {
  const bool gpu = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  if (job.architecture.experts > 0 && dice.once_in(4)) {
    s.expert_parallel = dice.of({2, 4, 16, 16, 32});
    return;
  }
  switch (dice.below(20)) {
    case 0:
      s.tensor_parallel *= dice.of({2, 3});
      break;
    case 1:
      s.pipeline_parallel = std::max(1, s.pipeline_parallel + dice.of({-1, 1}));
      break;
    case 2:
      s.context_parallel *= 2;
      break;
    case 3:
      s.expert_parallel = dice.of({2, 3, 4, 16, 64});
      s.expert_tensor_parallel = dice.of({0, 0, 1, 2});
      break;
    case 4:
      s.data_parallel = std::max(1, s.data_parallel / 2);
      break;
    case 5:
      s.micro_batch = dice.of({s.micro_batch + 1, 1, 2, 4, 128});
      break;
    case 6:
      s.virtual_pipeline += dice.of({1, 1, 2});
      break;
    case 7:
      s.sequence_parallel = !s.sequence_parallel;
      break;
    case 8:
      s.flash_attention = !s.flash_attention;
      break;
    case 9:
      s.kv_replicator = dice.of({0, 2, 3, 4, 2 * s.kv_replicator});
      break;
    case 10: {
      s.pipeline_cuts.clear();
      const int wanted = s.pipeline_parallel * s.virtual_pipeline - 1 + dice.of({0, 0, 0, 0, 1, -1});
      for (int i = 0; i < wanted; ++i)
        s.pipeline_cuts.push_back(dice.below(at(job.architecture.layers) + 1) - (dice.once_in(20) ? 1 : 0));
      if (!dice.once_in(4)) std::sort(s.pipeline_cuts.begin(), s.pipeline_cuts.end());
      break;
    }
    case 11:
      s.schedule = static_cast<models::Schedule>(dice.below(at(static_cast<int>(models::Schedule::count))));
      break;
    case 12:
      s.framework = models::stated_framework(dice.of(models::framework_names()));
      break;
    case 13:
      s.zero1 = !s.zero1;
      break;
    case 14:
      s.sharding = static_cast<models::Sharding>(dice.below(3));
      break;
    case 15:
      s.shard_ranks = dice.of({1, 2, 3, 4, 8, s.data_parallel * s.context_parallel});
      break;
    case 16:
      s.recompute = random_recompute(dice);
      break;
    case 17:
      s.precision = random_precision(dice, gpu || dice.once_in(4));
      break;
    case 18: {  // ranks from data to tensor, context or pipeline parallel
      const int n = dice.of({2, 2, 4, 8});
      int& to = dice.once_in(3)   ? s.tensor_parallel
                : dice.once_in(2) ? s.context_parallel
                                  : s.pipeline_parallel;
      if (s.data_parallel % n != 0) break;
      s.data_parallel /= n;
      to *= n;
      s.kv_replicator = std::max(1, s.tensor_parallel / std::max(1, job.architecture.kv_heads));
      break;
    }
    default:
      s = models::canonical(s);
      break;
  }
}

}  // namespace

std::vector<Strategy> random_strategies(const models::Job& job, unsigned seed, int count) {
  Dice dice(seed);
  models::Job free = job;
  if (dice.once_in(2)) free.pin = {.zero1 = job.pin.zero1, .framework = job.pin.framework};
  const std::vector<Strategy> space = planner::enumerate(free);
  std::vector<Strategy> all;
  for (int i = 0; i < count; ++i) {
    Strategy s = space.empty() ? planner::default_strategy(job) : dice.of(space);
    for (int n = dice.below(3); n > 0; --n) change(s, job, dice);
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace trnplan
