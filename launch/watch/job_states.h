// States of a Slurm job, as scontrol names them: SchedMD/slurm@0008e61:src/common/slurm_protocol_defs.c, job_state_string.
#pragma once

#include <optional>
#include <string_view>

#include "logs/training/failures.h"

namespace trnplan::launch {

struct JobStateTraits {
  std::string_view name;
  bool over = false;    ///< no step follows
  bool failed = false;  ///< not by finishing its work
  std::optional<logs::FailureKind> kind;
};

/// All false of a state that is not known.
[[nodiscard]] JobStateTraits job_state(std::string_view name);

/// A job that Slurm has forgotten: it ended, nobody says how.
inline constexpr std::string_view kForgotten = "FORGOTTEN";

}  // namespace trnplan::launch
