// The line that starts pretrain_gpt.py, read: from a script, or from a file of its arguments.
#pragma once

#include "planner/plan/target.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

/// What megatron_script() reads of it (targets/megatron/megatron_script.h). Throws InputError: a degree that is no number,
/// flags that contradict each other. `model`: for a recipe that names its model in place of its shape.
[[nodiscard]] planner::RunReading megatron_reading(const planner::ConfigFile& file, int ranks,
                                                   const models::Architecture* model);

/// The arguments by their flags, and what the script exports of the environment that the program asks for.
struct MegatronArguments {
  StatedByName stated;
  bool starts_program = false;  ///< the file names the script, and is more than its arguments
};
[[nodiscard]] MegatronArguments megatron_arguments(const planner::ConfigFile& file);

}  // namespace trnplan::targets
