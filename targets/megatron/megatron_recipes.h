// What Megatron-LM's own scripts train with, the one next in size. Private to this room.
#pragma once

#include "models/job/job.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// In steps of the job's batch.
[[nodiscard]] Recipe megatron_recipe(const models::Job& job);

/// --attention-backend of that recipe where attention is fused.
[[nodiscard]] const char* fused_attention(const models::Architecture& a);

}  // namespace trnplan::targets
