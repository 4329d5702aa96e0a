#include "tests/launch/folder/entry_points/random_plans.h"

#include <algorithm>
#include <random>

#include "launch/folder/scripts.h"
#include "planner/check/rules.h"
#include "tests/models/setup.h"

namespace trnplan {

namespace {

/// Reproducible on every machine: the engine's numbers are in the standard, a distribution's are not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + static_cast<std::ptrdiff_t>(engine_() % all.size()));
  }

 private:
  std::mt19937_64 engine_;
};

Case any_case(Dice& dice) {
  const std::string model = dice.of(
      {"llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b", "llama3.1-8b", "llama3.1-70b"});
  const int nodes = dice.of({1, 2, 4, 8, 16, 32});
  Case c{job_of(model, nodes, dice.of({2048, 4096, 8192, 16384}), nodes * dice.of({32, 64, 256, 24})), {}};
  models::Strategy& s = c.strategy;
  s.tensor_parallel = dice.of({1, 2, 4, 8, 16, 32, 8, 32});
  s.pipeline_parallel = dice.of({1, 1, 2, 4, 8, 16});
  s.virtual_pipeline = s.pipeline_parallel > 1 ? dice.of({1, 1, 1, 2}) : 1;
  s.context_parallel = dice.of({1, 1, 1, 2});
  s.data_parallel = static_cast<int>(std::max<std::int64_t>(1, c.job.cluster.cores() / s.model_parallel()));
  s.micro_batch = dice.of({1, 1, 2});
  s.sequence_parallel = s.tensor_parallel > 1 && dice.of({true, true, false});
  s.zero1 = dice.of({true, true, false});
  s.flash_attention = s.context_parallel > 1 || dice.of({true, false});
  s.recompute = *models::recompute_from(dice.of({"none", "CoreAttention", "CoreAttention+LlamaMLP", "full"}));
  s.precision = dice.of({models::Precision::mixed_precision, models::Precision::bf16_sr});
  s.kv_replicator = std::max(1, s.tensor_parallel / c.job.architecture.kv_heads);
  if (!c.job.architecture.grouped_queries()) s.kv_replicator = 1;
  c.job.training.precision = s.precision;
  return c;
}

/// Of an encoder that is trained data parallel alone, and what its script cannot say.
Case any_encoder(Dice& dice) {
  const int nodes = dice.of({1, 2, 4, 8, 16, 32, 128});
  const int batch = dice.of({4096, 16384, 32768, 65536, 65536 * nodes, 524288, 1048576});
  Case c{job_of("bert-large", nodes, dice.of({128, 512, 256}), batch), {}};
  models::Strategy& s = c.strategy;
  s.tensor_parallel = dice.of({1, 1, 1, 1, 2});
  s.data_parallel = static_cast<int>(c.job.cluster.cores() / s.tensor_parallel);
  s.micro_batch = dice.of({1, 2, 4, 8, 16, 32});
  s.zero1 = dice.of({false, false, false, true});
  s.flash_attention = dice.of({false, false, false, true});
  s.recompute = *models::recompute_from(dice.of({"none", "none", "none", "full"}));
  s.precision = dice.of({models::Precision::bf16_sr, models::Precision::autocast, models::Precision::fp32,
                         models::Precision::mixed_precision});
  c.job.training.precision = s.precision;
  return c;
}

/// On GPUs, of the training loop that the target's script runs.
Case any_on_gpus(Dice& dice, const planner::Target& target) {
  const bool sharded = target.framework() == "fsdp";
  const std::string model =
      sharded
          ? dice.of({"llama3-8b", "llama3-70b", "llama3.1-8b", "llama3.1-70b", "llama3.1-405b"})
          : dice.of({"llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b", "llama3.1-8b",
                     "llama3.1-70b", "gpt3-23b", "gpt3-46b", "gpt3-175b", "mixtral-8x7b", "llama3.1-405b"});
  const int nodes = dice.of({1, 2, 4, 8, 16, 32});
  Case c{job_of(model, nodes, dice.of({2048, 4096, 8192}), nodes * dice.of({32, 64, 256, 24})), {}};
  c.job.cluster.instance =
      test_catalog().instance(dice.of({"p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"}));
  models::Strategy& s = c.strategy;
  s.framework = target.framework();
  s.tensor_parallel = dice.of({1, 1, 2, 4, 8});
  s.pipeline_parallel = dice.of({1, 1, 2, 4, 8, 16});
  s.virtual_pipeline = s.pipeline_parallel > 1 ? dice.of({1, 1, 2, 4}) : 1;
  s.context_parallel = dice.of({1, 1, 1, 2});
  s.data_parallel = static_cast<int>(std::max<std::int64_t>(1, c.job.cluster.cores() / s.model_parallel()));
  s.expert_parallel = c.job.architecture.experts > 0 ? dice.of({1, 2, 4}) : 1;
  s.micro_batch = dice.of({1, 1, 2});
  s.sequence_parallel = s.tensor_parallel > 1 && (sharded || dice.of({true, true, false}));
  s.zero1 = dice.of({true, true, true, false});
  s.flash_attention = sharded || s.context_parallel > 1 || dice.of({true, true, false});
  s.recompute = *models::recompute_from(sharded ? dice.of({"none", "SelectiveOp", "full", "full/2", "full/3"})
                                                : dice.of({"none", "CoreAttention", "CoreAttention+LlamaMLP",
                                                           "LlamaMLP+LlamaRMSNorm", "full"}));
  s.precision = dice.of({models::Precision::mixed_precision, models::Precision::mixed_precision,
                         models::Precision::fp8, models::Precision::bf16_sr});
  c.job.training.precision = s.precision;
  if (c.job.architecture.experts > 0)
    s.framework = dice.of({"megatron", "megatron-flex", "megatron-ep-overlap", "megatron-flex-ep-overlap"});
  if (!sharded) return c;
  s.framework = dice.of({"fsdp", "fsdp", "fsdp-async-tp", "fsdp-eager"});
  s.sharding = dice.of({models::Sharding::parameters, models::Sharding::gradients});
  // Of blocks that are not compiled, without recomputation, a V.
  if (s.framework == "fsdp-eager" && s.virtual_pipeline == 2) {
    s.schedule = models::Schedule::zero_bubble_v;
    s.recompute = {};
    s.precision = c.job.training.precision = models::Precision::mixed_precision;
  } else if (s.pipeline_parallel > 1 && s.virtual_pipeline == 1) {
    s.schedule = dice.of({models::Schedule::one_f_one_b, models::Schedule::gpipe});
  }
  if (s.zero1 && s.pipeline_parallel == 1) s.shard_ranks = dice.of({0, 0, 2, 4, 8, 16});
  return c;
}

/// The same degrees on another machine, whose cores data parallel takes.
void move_to(const topology::Instance& machine, Case& c) {
  c.job.cluster.instance = machine;
  c.strategy.data_parallel =
      static_cast<int>(std::max<std::int64_t>(1, c.job.cluster.cores() / c.strategy.model_parallel()));
}

}  // namespace

std::vector<Case> legal_plans(const planner::Target& target, int count, std::uint64_t seed,
                              const topology::Instance* machine) {
  Dice dice(seed);
  std::vector<Case> plans;
  const int most = machine == nullptr ? 200'000 : 100 * count;
  for (int tries = 0; tries < most && static_cast<int>(plans.size()) < count; ++tries) {
    Case c = !target.framework().empty() ? any_on_gpus(dice, target)
             : target.defaults().zero1   ? any_case(dice)
                                         : any_encoder(dice);
    if (machine != nullptr) move_to(*machine, c);
    if (!planner::inexpressible(target, c.job, c.strategy) &&
        !planner::breaks_a_rule(c.job, c.strategy, &target))
      plans.push_back(std::move(c));
  }
  return plans;
}

std::string node_run_of(const planner::Target& target, const Case& c) {
  planner::Plan plan;
  plan.strategy = c.strategy;
  plan.nodes = c.job.cluster.nodes;
  return launch::node_run_sh({c.job, plan, target});
}

}  // namespace trnplan
