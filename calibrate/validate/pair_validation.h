// Ratios of two configurations' times: predicted beside measured, and whether the stated doubt is right.
//
// A pair is two configurations of one kind and one framework, each the mean of its rows as logarithms, predicted by
// fits that have not seen it. Its error is log(predicted / measured) of the ratio, and what is stated of it
//   variance = g' S g + operator_spread^2 d + 2 n^2 + repeat_spread^2 (1 / rows of a + 1 / rows of b)
// with g the difference of the gradients, S the mean of both fits' covariances, and d breakdown_distance()
// (models/uncertainty/compare.h). n is what two jobs differ in besides, which strategies of one job do not: the rest
// of configuration_spread, n^2 = max(0, configuration_spread^2 - operator_spread^2 mean(d) / 2), so that the mean
// variance of all pairs is that of independent configurations.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/step_validation.h"

namespace trnplan::calibrate {

struct ConfigurationPair {
  std::string first, second, framework;
  double error = 0;     ///< log of the predicted ratio over the measured one
  double sd = 0;        ///< stated of it
  double distance = 0;  ///< of the two breakdowns
  double better = 0.5;  ///< stated: P(the first takes less time a model FLOP and core)
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

  /// Of the pairs with a stated probability from `low` to below `high`, how often it was so.
  struct Bin {
    double low = 0, high = 0;
    std::size_t pairs = 0;
    double stated = 0, observed = 0;
  };
  /// Central intervals of 10, 20 .. 90, 95 %: low = high = stated.
  [[nodiscard]] std::vector<Bin> intervals() const;
  /// Which of two is the better one, the likelier side of each pair; empty bins are left out.
  [[nodiscard]] std::vector<Bin> choices() const;
};

/// Cost: O(pairs * parameters^2). Deterministic.
[[nodiscard]] PairValidation validate_pairs(const std::vector<const StepValidation::Row*>& rows);

}  // namespace trnplan::calibrate
