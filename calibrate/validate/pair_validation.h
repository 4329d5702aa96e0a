// Validation of ratios of two configurations' times and of their stated uncertainty.
//
// A pair is two configurations of one kind and one framework, each the mean of its rows as logarithms,
// predicted by fits that have not seen it. Its error is log(predicted / measured) of the ratio. The stated
// variance is
//   variance = g' S g + operator_spread^2 d + 2 n^2 + repeat_spread^2 (1 / rows of a + 1 / rows of b)
// with g the difference of the gradients, S the mean of both fits' covariances, and d breakdown_distance()
// (models/uncertainty/compare.h). n is the further difference of two jobs, which strategies of one job do not
// have: the rest of configuration_spread, n^2 = max(0, configuration_spread^2 - operator_spread^2 mean(d) /
// 2), so that the mean variance of all pairs is that of independent configurations.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/step_validation.h"

namespace trnplan::calibrate {

struct ConfigurationPair {
  std::string first, second, framework;
  double error = 0;     ///< log of the predicted ratio over the measured one
  double sd = 0;        ///< stated for `error`
  double distance = 0;  ///< of the two breakdowns
  double better = 0.5;  ///< stated P(the first takes less time per model FLOP and core)
  bool was_better = false;
};

struct PairValidation {
  std::vector<ConfigurationPair> pairs;  ///< the nearest breakdowns first
  double job_spread = 0;                 ///< n

  double mape = 0, median_ape = 0;

  struct Part {
    std::size_t pairs = 0;
    double farthest = 0;                  ///< distance
    double error = 0, stated = 0, z = 0;  ///< root mean squares
  };
  [[nodiscard]] Part all() const;
  /// `of` parts of about as many pairs each, by their distance.
  [[nodiscard]] std::vector<Part> parts(std::size_t of) const;

  /// Pairs with a stated probability from `low` to below `high`, and the observed share.
  struct Bin {
    double low = 0, high = 0;
    std::size_t pairs = 0;
    double stated = 0, observed = 0;
  };
  /// Central intervals of 10, 20 .. 90, 95 %: low = high = stated.
  [[nodiscard]] std::vector<Bin> intervals() const;
  /// Choices of the better of two, by the likelier side of each pair; empty bins are left out.
  [[nodiscard]] std::vector<Bin> choices() const;
};

/// Validates all pairs of rows. Cost: O(pairs * parameters^2). Deterministic.
[[nodiscard]] PairValidation validate_pairs(const std::vector<const StepValidation::Row*>& rows);

}  // namespace trnplan::calibrate
