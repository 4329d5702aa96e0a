// Reader of the line that starts pretrain_gpt.py, in a script or in a file of its arguments.
#pragma once

#include "planner/plan/target.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

/// Run that megatron_script() describes (targets/megatron/megatron_script.h). `model`: for a recipe that
/// names its model instead of its shape. Throws InputError: a degree that is no number, flags that contradict
/// each other.
[[nodiscard]] planner::RunReading megatron_reading(const planner::ConfigFile& file, int ranks,
                                                   const models::Architecture* model);

/// Arguments by flag, and the variables that the script exports and the program reads.
struct MegatronArguments {
  StatedByName stated;
  bool starts_program = false;  ///< the file names the script, and holds more than its arguments
};
[[nodiscard]] MegatronArguments megatron_arguments(const planner::ConfigFile& file);

}  // namespace trnplan::targets
