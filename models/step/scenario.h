// Conditions of a step on a machine that is not ideal.
#pragma once

#include <vector>

#include "units/quantity.h"

namespace trnplan::models {

/// Cores of consecutive ranks whose work takes `factor` times as long; collectives take as long as ever.
struct SlowCores {
  int first = 0, count = 1;
  double factor = 1;
};

struct Scenario {
  std::vector<SlowCores> slow;

  [[nodiscard]] bool is_ideal() const;
  /// Factor of a core: the product of all that it is among. Cost: O(slow).
  [[nodiscard]] double factor(int rank) const;
};

/// The work of the cores of one pipeline stage that have one factor.
struct CoreWork {
  int stage = 0;
  double factor = 1;
  int cores = 0;
  Seconds work{};  ///< of one core in one step, without collectives, messages and waiting
};

/// The work of the busiest cores of a stage; 0 without any.
[[nodiscard]] Seconds most_work(const std::vector<CoreWork>& work, int stage);

}  // namespace trnplan::models
