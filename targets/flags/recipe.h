// What a published training recipe learns with, for the scripts that take it as flags.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/architecture/architecture.h"
#include "models/job/job.h"

namespace trnplan::targets {

/// One shipped recipe of one script. Learning rates are per step, weight decay as the flag has it.
struct Recipe {
  std::string_view source;  ///< repository and commit, path
  double parameters = 0;    ///< of the model that it trains
  std::int64_t steps = 0;   ///< of the whole run
  double lr = 0, min_lr = 0;
  std::int64_t warmup_steps = 0, constant_steps = 0;
  double beta1 = 0, beta2 = 0;
  double weight_decay = 0;
  double init_std = 0;            ///< of initial weights; 0 = the script has no flag for it
  std::string_view base_config;   ///< of a script whose settings begin from a YAML
  bool functionalization = true;  ///< false: the recipe sets XLA_DISABLE_FUNCTIONALIZATION=0
  models::Decay schedule = models::Decay::cosine;
  std::string_view optimizer = "adamw";
  std::int64_t log_steps = 1;      ///< between lines of the log
  std::int64_t sample_tokens = 0;  ///< what is in steps above counts sequences of so many tokens; 0: steps
};

/// The recipe in steps of that batch and sequence, for as many tokens; one that counts steps as it is.
Recipe of_batch(Recipe recipe, const models::Training& training);

/// The one for the model next in size, by the ratio of parameters. Requires: `shipped` is not empty.
const Recipe& nearest_recipe(std::span<const Recipe> shipped, const models::Architecture& a);

/// The recipe with what the job states instead.
Recipe settled(Recipe recipe, const models::Learning& stated);

/// Steps of the whole training: its tokens over those of a step; the recipe's where none are stated.
std::int64_t steps_of(const models::Training& t, const Recipe& recipe);

/// What the job states; else the recipe's warm-up, but at most a fifth of the steps, or the recipe's own share where
/// that is more, so that a short run gets beyond it.
std::int64_t warmup_of(const Recipe& recipe, const models::Learning& stated, std::int64_t steps);

/// Steps between checkpoints near `wanted` that divide all steps, so that the last one is saved too by a script
/// that saves at multiples alone; `wanted` where no divisor lies between half of it and itself.
std::int64_t saving_interval(std::int64_t steps, std::int64_t wanted);

/// Steps between checkpoints where neither job nor planner says any, and how many are kept.
inline constexpr std::int64_t kSaveEvery = 200, kKeptCheckpoints = 2;

/// Steps between checkpoints of a run: as the job states them, else near what loses least to failures.
std::int64_t saves_every(const models::RunFiles& run, std::int64_t steps);

}  // namespace trnplan::targets
