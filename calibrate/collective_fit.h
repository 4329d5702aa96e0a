// Physical parameters of collectives, fitted to nccom-test points.
//
// What nccom-test prints is models::nccom_seconds of the runtime's choice of algorithm: seven parameters
// enter, kCollectiveParameters; all others of the profile stay as they are. Priors are the profile's own; the
// fit is that of calibrate/fit.h with a soft-L1 loss.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "calibrate/measured_collectives.h"
#include "calibrate/nccom_test.h"
#include "models/profile.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

inline constexpr std::array kCollectiveParameters = {
    models::Parameter::dma_fraction, models::Parameter::link_fraction, models::Parameter::hop_latency,
    models::Parameter::host_launch,  models::Parameter::efa_fraction,  models::Parameter::efa_latency,
    models::Parameter::barrier,
};

struct CollectiveFit {
  struct Row {
    const MeasuredCollective* point = nullptr;
    std::string algorithm;
    double predicted = 0;  ///< s, with the fitted profile
    double error = 0;      ///< predicted / measured - 1
  };
  struct Estimate {
    models::Parameter parameter{};
    models::Value prior, posterior;
    double prior_share = 1;
    std::string_view verdict;  ///< "identified", "weakly", "at prior"
  };
  models::Profile profile;
  std::vector<Estimate> estimates;
  std::vector<Row> rows;
  std::vector<const MeasuredCollective*>
      left_out;                              ///< operations that are not modelled, or do not fit the machine
  double median_error = 0, worst_error = 0;  ///< of |error|
  const Row* worst = nullptr;
  int iterations = 0;
  bool converged = false;
};

/// The rows of a table as points; none where it does not say operation and ranks, and not those that
/// contradict themselves.
std::vector<MeasuredCollective> points_of(const NccomTable& table, const std::string& source);

/// Fits `prior` to the points, each run on `instance`; nodes not stated are as few as hold the ranks.
/// `noise`: how far a right prediction may lie from a point, standard deviation of the logarithm. The result
/// refers to `points`. Throws std::invalid_argument when no point is left.
CollectiveFit fit_collectives(const std::vector<MeasuredCollective>& points,
                              const topology::Instance& instance, const models::Profile& prior,
                              double noise = 0.1);

}  // namespace trnplan::calibrate
