// Learning settings of NxDT's shipped configs of HF Llama.
#pragma once

#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// Recipe of the shipped config for the model closest in size with the same kind of rotary embedding.
const Recipe& nxdt_recipe(const models::Architecture& a);

/// Settings of learning that its configs can express under `strategy`.
Learnable nxdt_learnable(const models::Strategy& strategy);

}  // namespace trnplan::targets
