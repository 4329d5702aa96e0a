// Arguments with which a file starts pretrain_gpt.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

struct MegatronScript {
  StatedByName flags;           ///< with their values; the last one if a flag is repeated
  StatedByName environment;     ///< variables that the program reads
  bool starts_program = false;  ///< the file names pretrain_gpt.py, and holds more than its arguments
  std::vector<std::string> notes;
};

/// Words of the command that runs pretrain_gpt.py, with its variables followed
/// (targets/flags/shell_follower.h). If there is no such command, or if it lacks a flag that the program
/// needs, all words of the file: a file of arguments, a manifest. Throws InputError for a file that is too
/// long. Cost: linear.
[[nodiscard]] MegatronScript megatron_script(const planner::ConfigFile& file);

/// Flags that pretrain_gpt.py requires.
inline constexpr const char* kMegatronNeeds[] = {"--num-layers", "--hidden-size", "--num-attention-heads",
                                                 "--seq-length", "--micro-batch-size"};

}  // namespace trnplan::targets
