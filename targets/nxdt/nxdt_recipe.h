// What NxDT's shipped configs of HF Llama learn with.
#pragma once

#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// That of the config for the model next in size, of the same kind of rotary embedding.
const Recipe& nxdt_recipe(const models::Architecture& a);

/// What its configs can say of learning under `strategy`.
Learnable nxdt_learnable(const models::Strategy& strategy);

}  // namespace trnplan::targets
