// Failures whose cause and remedy stand in the line itself: no plan has to be searched.
#pragma once

#include <string>

#include "logs/training/failures.h"

namespace trnplan::launch {

struct Remedy {
  std::string problem, fix;
};

/// Empty for kinds that take a plan to mend: refused groups, memory, instructions.
Remedy remedy_of(const logs::Failure& failure);

}  // namespace trnplan::launch
