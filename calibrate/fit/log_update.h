// One linear step of the update of parameters by measured times, in logarithms, which fits repeat until nothing moves
// (an iterated Kalman filter: B. Bell, F. Cathey, IEEE Trans. Automatic Control 38(2), 1993).
#pragma once

#include <vector>

#include "models/uncertainty/posterior.h"

namespace trnplan::calibrate {

/// Change of a logarithm below which a fit has converged.
inline constexpr double kConverged = 1e-6;

/// A measured time against its prediction at the present parameters.
struct LogResidual {
  double beyond = 0;           ///< logarithm of measured over predicted
  std::vector<double> slopes;  ///< of the logarithm predicted, by parameter
  double noise = 0;            ///< variance
};

/// The change of each parameter's logarithm from the prior, linear around `delta`, the present change. `posterior`
/// comes with the prior's covariance and leaves with that of the rows. Cost: O(rows x parameters^2).
[[nodiscard]] std::vector<double> updated(models::Posterior& posterior, const std::vector<double>& delta,
                                          const std::vector<LogResidual>& rows);

/// The largest difference of two changes.
[[nodiscard]] double largest_move(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace trnplan::calibrate
