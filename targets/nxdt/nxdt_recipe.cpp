#include "targets/nxdt/nxdt_recipe.h"

namespace trnplan::targets {

namespace {

using enum models::Decay;

constexpr std::string_view kFp32States = "adamw_fp32OptState";

constexpr std::string_view k7b =
    "aws-neuron/neuronx-distributed-training@9169aa0:examples/conf/hf_llama_7B_config.yaml";
constexpr std::string_view k8b =
    "aws-neuron/neuronx-distributed-training@9169aa0:examples/conf/hf_llama3_8B_config.yaml";
constexpr std::string_view k70b =
    "aws-neuron/neuronx-distributed-training@9169aa0:examples/conf/hf_llama3_70B_config.yaml";
constexpr std::string_view k31of8b =
    "aws-neuron/neuronx-distributed-training@9169aa0:examples/conf/hf_llama3.1_8B_config.yaml";
constexpr std::string_view k31of70b =
    "aws-neuron/neuronx-distributed-training@9169aa0:examples/conf/hf_llama3.1_70B_config.yaml";

/// Nothing reads the weight decay of 0.1 in configs of large models: HF models decay by 0.01
/// (src/neuronx_distributed_training/utils/model_utils.py), so plans state 0.01.
constexpr Recipe kRecipes[] = {
    {k7b, 6738415616., 10000, 3e-4, 0, 100, 0, 0.9, 0.999, 0.01, 0, {}, true, linear, kFp32States, 1},
    {k8b, 8030261248., 10000, 1.5e-4, 0, 100, 0, 0.9, 0.999, 0.01, 0, {}, true, linear, kFp32States, 10},
    {k70b, 70553706496., 30000, 1.5e-5, 1e-6, 2000, 0, 0.9, 0.95, 0.01, 0, {}, true, cosine, "adamw", 10},
};

constexpr Recipe kScaledRotary[] = {
    {k31of8b, 8030261248., 30000, 1.5e-5, 1e-6, 2000, 0, 0.9, 0.95, 0.01, 0, {}, true, cosine, "adamw", 10},
    {k31of70b, 70553706496., 30000, 1.5e-5, 1e-6, 2000, 0, 0.9, 0.95, 0.01, 0, {}, true, cosine, "adamw", 10},
};

}  // namespace

const Recipe& nxdt_recipe(const models::Architecture& a) {
  if (a.rope_scaling.empty()) return nearest_recipe(kRecipes, a);
  return nearest_recipe(kScaledRotary, a);
}

/// With ZeRO-1 the norm is not passed on, so any value other than 1 would become 1
/// (aws-neuron/neuronx-distributed@fbac349 src/neuronx_distributed/trainer/trainer.py). The linear schedule
/// is written as shipped, without a minimum.
Learnable nxdt_learnable(const models::Strategy& strategy) {
  Learnable can;
  can.optimizers = {"adamw", kFp32States};
  if (!strategy.zero1) can.clipping.reset();
  can.decay = Learnable::Fixed{0.01};
  can.starts = {models::StartFrom::scratch, models::StartFrom::hf, models::StartFrom::checkpoint};
  return can;
}

}  // namespace trnplan::targets
