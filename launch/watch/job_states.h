// States of a Slurm job, as scontrol names them:
// SchedMD/slurm@0008e61:src/common/slurm_protocol_defs.c, job_state_string.
#pragma once

#include <optional>
#include <string_view>

#include "logs/training/failures.h"

namespace trnplan::launch {

struct JobStateTraits {
  std::string_view name;
  bool over = false;    ///< no further step follows
  bool failed = false;  ///< ended without finishing its work
  std::optional<logs::FailureKind> kind;
};

/// Traits of a state; all false if it is unknown.
[[nodiscard]] JobStateTraits job_state(std::string_view name);

/// A job that Slurm has forgotten: it ended, in an unknown state.
inline constexpr std::string_view kForgotten = "FORGOTTEN";

}  // namespace trnplan::launch
