// Collectives predicted by fits that have not seen their table.
//
// A table is the output of one nccom-test command: operation, ranks, nodes and build. Each is predicted by a
// fit to the other tables of its build, or, if there is none, by the prior as it is. The 90 % interval is
// that of models/collective/collective_timing.h: the spreads of the fitted parameters and collective_spread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit/collective_fit.h"

namespace trnplan::calibrate {

struct LeftOutTable {
  std::string build, op;
  int ranks = 0, nodes = 0;
  std::size_t points = 0, fitted = 0;  ///< its own, and those of the fit that predicted it; 0: the prior did
  double median_error = 0;             ///< of |predicted / measured - 1|
  double bias = 0;                     ///< mean log of predicted over measured
  std::size_t covered = 0;             ///< points inside their 90 % interval
  double half_width = 0;               ///< median over the points of the interval's half-width, in logarithms
};

/// Predicts each table. `priors`: start of a build's fits. Tables in the order of build, operation, ranks.
/// Cost: one fit per table. Throws as fit_collectives().
[[nodiscard]] std::vector<LeftOutTable> leave_tables_out(
    const std::vector<logs::MeasuredCollective>& points, const topology::Instance& instance,
    const std::function<models::Profile(const std::string& build)>& priors);

}  // namespace trnplan::calibrate
