// Random factors of the times of passes and messages. Internal to the step model.
#pragma once

#include <memory>
#include <vector>

#include "models/step/scenario.h"

namespace trnplan::models {

/// Log-normal factors with median 1, one for each data-parallel replica and pass or message. All cores of a
/// replica that run a pass have the same: they wait for each other in it. The numbers come in the order of
/// each_action(), so they do not depend on lanes.
class Jitter {
 public:
  /// The same seed and run, the same numbers.
  Jitter(const RandomTimes& random, int run, int replicas);
  ~Jitter();
  Jitter(Jitter&&) noexcept;
  Jitter& operator=(Jitter&&) noexcept;

  /// Factors of the next pass or message, by replica. Valid until the next call. Cost: O(replicas).
  const std::vector<double>& draw();

 private:
  struct Engine;
  double log_sd_;
  std::unique_ptr<Engine> engine_;
  std::vector<double> factors_;
};

}  // namespace trnplan::models
