// TorchTitan: FSDP2 with tensor, context and pipeline parallel, on GPUs and, with AWS's fork, on Trainium 2.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

[[nodiscard]] const planner::Target& torchtitan();

}  // namespace trnplan::targets
