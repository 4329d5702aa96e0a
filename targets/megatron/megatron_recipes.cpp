#include "targets/megatron/megatron_recipes.h"

#include <span>

namespace trnplan::targets {

namespace {

constexpr Recipe in_samples(std::int64_t tokens, Recipe recipe) {
  recipe.sample_tokens = tokens;
  return recipe;
}

/// Recipe of a kind of model. The scripts end with steps at the minimum, as many as their own length
/// requires. These are left out: a run of another length has none.
struct Shipped {
  std::span<const Recipe> recipes;
  const char* attention;  ///< --attention-backend for fused attention
};

/// Length, warm-up, betas and decay are those of the script for Llama 3. Its rates are a benchmark's, so the
/// rates are Llama's own, with the minimum at a tenth (Touvron et al. 2023, Llama 2, section 2.2). Initial
/// weights: `initializer_range` of meta-llama/Llama-3.1-405B and its smaller siblings, config.json.
constexpr Recipe llama(double parameters, double rate, double least) {
  return in_samples(
      8192, {"NVIDIA/Megatron-LM@d98e8a6:examples/llama/train_llama3_8b_h100_fp8.sh, with the rate of "
             "pytorch/torchtitan@b5bcd76:torchtitan/models/llama3/config_registry.py",
             parameters, 1953125000, rate, least, 3906252, 0, 0.9, 0.95, 0.1, 0.02});
}
constexpr Recipe kLlama[] = {llama(8030261248., 3e-4, 3e-5), llama(70553706496., 1.5e-4, 1.5e-5),
                             llama(405853388800., 8e-5, 8e-6)};
constexpr Recipe kGpt[] = {{"NVIDIA/Megatron-LM@d98e8a6:examples/gpt3/train_gpt3_175b_distributed.sh",
                            174591683584., 500000, 6e-5, 6e-6, 500, 0, 0.9, 0.95, 0.1, 0.006}};
/// Its script leaves the betas at the flags' defaults.
constexpr Recipe kMixtures[] = {
    {"NVIDIA/Megatron-LM@d98e8a6:examples/mixtral/train_mixtral_8x7b_distributed.sh", 46702792704., 500000,
     1e-4, 1e-5, 500, 0, 0.9, 0.999, 0.1, 0.01}};

Shipped shipped_for(const models::Architecture& a) {
  if (a.experts > 0) return {kMixtures, "auto"};
  if (models::is_llama_like(a)) return {kLlama, "fused"};
  return {kGpt, "auto"};
}

}  // namespace

const char* fused_attention(const models::Architecture& a) {
  return shipped_for(a).attention;
}

Recipe megatron_recipe(const models::Job& job) {
  return of_batch(nearest_recipe(shipped_for(job.architecture).recipes, job.architecture), job.training);
}

}  // namespace trnplan::targets
