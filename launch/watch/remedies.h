// Remedies of failures whose line states the cause, so that no plan has to be searched.
#pragma once

#include <string>

#include "logs/training/failures.h"

namespace trnplan::launch {

struct Remedy {
  std::string problem, fix;
};

/// Remedy of a failure; empty for kinds that need another plan: refused groups, memory, instructions.
Remedy remedy_of(const logs::Failure& failure);

}  // namespace trnplan::launch
