// NVIDIA's Megatron-LM on GPUs: pretrain_gpt.py and its flags.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

[[nodiscard]] const planner::Target& megatron();

}  // namespace trnplan::targets
