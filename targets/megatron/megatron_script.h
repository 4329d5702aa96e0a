// The arguments of pretrain_gpt.py as a file starts it with them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "targets/start/settings.h"

namespace trnplan::targets {

struct MegatronScript {
  StatedByName flags;           ///< with what stands behind each; of one that is stated twice, the last
  StatedByName environment;     ///< variables that the program asks for
  bool starts_program = false;  ///< the file names pretrain_gpt.py, and is more than its arguments
  std::vector<std::string> notes;
};

/// The words of the command that runs pretrain_gpt.py, its variables followed (targets/flags/shell_follower.h); of a file
/// with no such command, or one that lacks what the program needs, all words of the file: a file of arguments, a manifest.
/// Throws InputError of a file that is too long. Cost: linear.
[[nodiscard]] MegatronScript megatron_script(const planner::ConfigFile& file);

/// What pretrain_gpt.py cannot do without.
inline constexpr const char* kMegatronNeeds[] = {"--num-layers", "--hidden-size", "--num-attention-heads",
                                                 "--seq-length", "--micro-batch-size"};

}  // namespace trnplan::targets
