#include "calibrate/fit/log_update.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trnplan::calibrate {

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

std::vector<double> updated(models::Posterior& posterior, const std::vector<double>& delta,
                            const std::vector<LogResidual>& rows) {
  std::vector<double> mean(delta.size(), 0);
  for (const LogResidual& row : rows) {
    const double residual = row.beyond + dot(row.slopes, delta) - dot(row.slopes, mean);
    const std::vector<double> gain = posterior.gain(row.slopes, row.noise);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += gain[j] * residual;
    posterior.observe(row.slopes, row.noise);
  }
  return mean;
}

double largest_move(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t j = 0; j < a.size(); ++j) most = std::max(most, std::abs(a[j] - b[j]));
  return most;
}

}  // namespace trnplan::calibrate
