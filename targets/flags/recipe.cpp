#include "targets/flags/recipe.h"

#include <algorithm>
#include <cmath>

namespace trnplan::targets {

const Recipe& nearest_recipe(std::span<const Recipe> shipped, const models::Architecture& a) {
  const double size = static_cast<double>(models::parameters(a));
  const auto distance = [&](const Recipe& r) { return std::abs(std::log(size / r.parameters)); };
  return *std::min_element(shipped.begin(), shipped.end(),
                           [&](const Recipe& x, const Recipe& y) { return distance(x) < distance(y); });
}

Recipe of_batch(Recipe recipe, const models::Training& t) {
  const std::int64_t per_step = std::int64_t{t.global_batch} * t.sequence;
  if (recipe.sample_tokens <= 0 || per_step <= 0) return recipe;
  for (std::int64_t* steps : {&recipe.steps, &recipe.warmup_steps, &recipe.constant_steps}) {
    if (*steps > 0) *steps = std::max<std::int64_t>(1, *steps * recipe.sample_tokens / per_step);
  }
  recipe.sample_tokens = 0;
  return recipe;
}

std::int64_t steps_of(const models::Training& t, const Recipe& recipe) {
  if (!(t.tokens > 0)) return recipe.steps;
  const double per_step = static_cast<double>(t.sequence) * t.global_batch;
  return static_cast<std::int64_t>(std::clamp(std::ceil(t.tokens / per_step), 1.0, 2e9));
}

Recipe with_learning(Recipe recipe, const models::Learning& stated) {
  recipe.lr = stated.learning_rate.value_or(recipe.lr);
  recipe.min_lr = stated.min_learning_rate.value_or(recipe.min_lr);
  recipe.warmup_steps = stated.warmup_steps.value_or(recipe.warmup_steps);
  recipe.constant_steps = stated.constant_steps.value_or(recipe.constant_steps);
  recipe.beta1 = stated.beta1.value_or(recipe.beta1);
  recipe.beta2 = stated.beta2.value_or(recipe.beta2);
  recipe.weight_decay = stated.weight_decay.value_or(recipe.weight_decay);
  recipe.schedule = stated.schedule.value_or(recipe.schedule);
  return recipe;
}

std::int64_t warmup_of(const Recipe& recipe, const models::Learning& stated, std::int64_t steps) {
  const std::int64_t of_recipe = recipe.steps > 0 ? recipe.warmup_steps * steps / recipe.steps : 0;
  return stated.warmup_steps.value_or(std::min(recipe.warmup_steps, std::max(steps / 5, of_recipe)));
}

std::int64_t saving_interval(std::int64_t steps, std::int64_t wanted) {
  if (steps <= wanted) return std::max<std::int64_t>(steps, 1);
  for (std::int64_t every = wanted; 2 * every >= wanted && every > 0; --every) {
    if (steps % every == 0) return every;
  }
  return wanted;
}

std::int64_t saves_every(const models::RunFiles& run, std::int64_t steps) {
  if (run.checkpoint_steps) return *run.checkpoint_steps;
  return saving_interval(steps, run.planned_checkpoint_steps > 0 ? run.planned_checkpoint_steps : kSaveEvery);
}

}  // namespace trnplan::targets
