// Random factors of the times of passes and messages. Internal to the step model.
#pragma once

#include <memory>
#include <vector>

#include "models/job/strategy.h"
#include "models/step/scenario.h"

namespace trnplan::models {

/// Factors, one for each data-parallel replica and pass or message: the largest of those of its ranks, each
/// log-normal with median 1. The tensor- and context-parallel ranks that run a pass wait for each other in it,
/// several times a layer.
/// The largest of n normal numbers has the distribution Phi^n, so it is drawn as Phi^-1(u^(1/n)). The numbers
/// come in the order of each_action(), so they do not depend on lanes.
class Jitter {
 public:
  /// The same seed and run, the same numbers.
  Jitter(const RandomTimes& random, int run, const Strategy& strategy);
  ~Jitter();
  Jitter(Jitter&&) noexcept;
  Jitter& operator=(Jitter&&) noexcept;

  /// Factors of the next pass or message, by replica. Valid until the next call. Cost: O(replicas).
  const std::vector<double>& draw();

 private:
  struct Engine;
  double log_sd_;
  int ranks_;  ///< that run a pass of a replica together
  std::unique_ptr<Engine> engine_;
  std::vector<double> factors_;
};

}  // namespace trnplan::models
