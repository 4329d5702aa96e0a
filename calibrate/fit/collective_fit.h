// Physical parameters of collectives, fitted to nccom-test points.
//
// What nccom-test prints is models::nccom_seconds of the runtime's choice of algorithm: seven parameters
// enter, kCollectiveParameters; all others of the profile stay as they are. Priors are the profile's own; the
// fit is that of calibrate/fit/fit.h with a soft-L1 loss and scaled noise: where the model misses the points
// by more than the noise stated, the spreads grow by as much.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "logs/nccom/nccom_test.h"
#include "logs/table/measured_collectives.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

inline constexpr std::array kCollectiveParameters = {
    models::neuron::dma_fraction, models::neuron::link_fraction, models::neuron::hop_latency,
    models::common::host_launch,  models::neuron::efa_fraction,  models::neuron::efa_latency,
    models::neuron::barrier,
};

/// A median error above this is no fit.
inline constexpr double kMostMedianError = 0.25;

/// A point that teaches nothing here, and how it could.
struct LeftOut {
  logs::MeasuredCollective point;
  std::string reason, fix;
};

/// Which of the points can be predicted on a machine.
struct Selection {
  std::vector<logs::MeasuredCollective> points;
  std::vector<LeftOut> left_out;  ///< by its table, not modelled, no place on the machine, no way
  int repeated = 0;               ///< points that equal an earlier one in everything but their origin
};

struct CollectiveFit {
  struct Row {
    const logs::MeasuredCollective* point = nullptr;
    int nodes = 1;
    std::string algorithm;
    double predicted = 0;  ///< s, with the fitted profile
    double error = 0;      ///< predicted / measured - 1
  };
  struct Estimate {
    models::Parameter parameter{};
    models::Value prior, posterior;
    double prior_share = 1;
    std::string_view verdict;  ///< as verdict() says
  };
  models::Profile profile;
  std::vector<Estimate> estimates;
  std::vector<Row> rows;
  double median_error = 0, worst_error = 0;  ///< of |error|
  const Row* worst = nullptr;
  double noise_scale =
      1;  ///< c of calibrate/fit/fit.h: how much more than the noise the model misses, squared
  int iterations = 0;
  bool converged = false;

  bool explains() const { return median_error <= kMostMedianError; }
};

/// The rows of a table as points; none where it does not say operation and ranks, or where an option says who
/// talks to whom (NccomTable::partners), and not those that contradict themselves.
std::vector<logs::MeasuredCollective> points_of(const logs::NccomTable& table, const std::string& source);

/// Sorts out what cannot be predicted on `instance` with `profile`; nodes not stated are as few as hold the
/// ranks.
Selection select_points(const std::vector<logs::MeasuredCollective>& points,
                        const topology::Instance& instance, const models::Profile& profile);

/// Points that can be predicted, and what profiles say of them.
class CollectivePoints {
 public:
  /// Keeps a reference to `points`. Throws std::invalid_argument as predict_collectives() does.
  CollectivePoints(const std::vector<logs::MeasuredCollective>& points, const topology::Instance& instance);
  ~CollectivePoints();
  CollectivePoints(CollectivePoints&&) noexcept;
  CollectivePoints& operator=(CollectivePoints&&) noexcept;
  /// What nccom-test would print of each. Cost: O(ranks) a point.
  std::vector<double> seconds(const models::Profile& profile) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What `profile` says of points that select_points() let through; no estimates. The result refers to
/// `points`. Throws std::invalid_argument when there is none, or one that cannot be predicted.
CollectiveFit predict_collectives(const std::vector<logs::MeasuredCollective>& points,
                                  const topology::Instance& instance, const models::Profile& profile);

/// Fits `prior` to such points. `noise`: how far a right prediction may lie from a point, standard deviation
/// of the logarithm. Throws as predict_collectives().
CollectiveFit fit_collectives(const std::vector<logs::MeasuredCollective>& points,
                              const topology::Instance& instance, const models::Profile& prior,
                              double noise = 0.1);

}  // namespace trnplan::calibrate
