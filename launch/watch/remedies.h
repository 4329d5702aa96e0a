// Remedies of failures whose line states the cause, so that no plan has to be searched.
#pragma once

#include <string>

#include "launch/watch/setting.h"
#include "logs/training/failures.h"

namespace trnplan::launch {

struct Remedy {
  std::string problem, fix;
};

/// Words on values that are not finite, wherever they are seen.
inline constexpr const char* kNotFiniteCause = "a value overflowed, or the run diverged";
inline constexpr const char* kNotFiniteFix =
    "go back to an earlier checkpoint; lower the learning rate if it comes again";

/// Advice where the log does not show the error.
inline constexpr const char* kLookAtRanks =
    "look at the last lines of the log, and at those of each rank if ranks have their own files";

/// Remedy of a failure; empty for kinds that need another plan: refused groups, memory, instructions.
Remedy remedy_of(const logs::Failure& failure, const RunSetting& setting);

}  // namespace trnplan::launch
