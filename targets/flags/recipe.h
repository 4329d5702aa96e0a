// Learning settings of published training recipes, for scripts that take them as flags.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/architecture/architecture.h"
#include "models/job/job.h"

namespace trnplan::targets {

/// One shipped recipe of one script. Learning rates are per step, weight decay is as the flag takes it.
struct Recipe {
  std::string_view source;  ///< repository and commit, path
  double parameters = 0;    ///< of the model that the recipe trains
  std::int64_t steps = 0;   ///< of the whole run
  double lr = 0, min_lr = 0;
  std::int64_t warmup_steps = 0, constant_steps = 0;
  double beta1 = 0, beta2 = 0;
  double weight_decay = 0;
  double init_std = 0;            ///< of initial weights; 0 = no flag for it
  std::string_view base_config;   ///< YAML that the script's settings start from
  bool functionalization = true;  ///< false: the recipe sets XLA_DISABLE_FUNCTIONALIZATION=0
  models::Decay schedule = models::Decay::cosine;
  std::string_view optimizer = "adamw";
  std::int64_t log_steps = 1;      ///< between lines of the log
  std::int64_t sample_tokens = 0;  ///< tokens of one sequence if steps count sequences; else 0
};

/// Converts the recipe to steps of the training's batch and sequence, with the same number of tokens. A
/// recipe that counts steps is returned unchanged.
Recipe of_batch(Recipe recipe, const models::Training& training);

/// Recipe for the model closest in size, by the ratio of parameters. Requires: `shipped` is not empty.
const Recipe& nearest_recipe(std::span<const Recipe> shipped, const models::Architecture& a);

/// The recipe, overridden by the settings that the job states.
Recipe with_learning(Recipe recipe, const models::Learning& stated);

/// Steps of the whole training: its tokens divided by those of a step, or the recipe's steps if the job
/// states no tokens.
std::int64_t steps_of(const models::Training& t, const Recipe& recipe);

/// Warm-up steps that the job states. Else the recipe's, but at most a fifth of all steps or, if that is
/// more, the recipe's own share, so that a short run also ends its warm-up.
std::int64_t warmup_of(const Recipe& recipe, const models::Learning& stated, std::int64_t steps);

/// Steps between checkpoints near `wanted` that divide all steps, so that a script that saves only at
/// multiples also saves the last step. `wanted` if no divisor lies between half of it and itself.
std::int64_t saving_interval(std::int64_t steps, std::int64_t wanted);

/// Default steps between checkpoints, and how many checkpoints are kept, if neither job nor planner states
/// them.
inline constexpr std::int64_t kSaveEvery = 200, kKeptCheckpoints = 2;

/// Steps between checkpoints of a run: the job's, else near the interval that loses least to failures.
std::int64_t saves_every(const models::RunFiles& run, std::int64_t steps);

}  // namespace trnplan::targets
