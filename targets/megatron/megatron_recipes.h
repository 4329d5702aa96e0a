// Recipes of Megatron-LM's own scripts, chosen by the model's size. Private to this room.
#pragma once

#include "models/job/job.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// Recipe in steps of the job's batch.
[[nodiscard]] Recipe megatron_recipe(const models::Job& job);

/// --attention-backend of that recipe for fused attention.
[[nodiscard]] const char* fused_attention(const models::Architecture& a);

}  // namespace trnplan::targets
