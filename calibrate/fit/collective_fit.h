// Physical parameters of collectives, fitted to nccom-test points.
//
// The printed time of nccom-test is models::nccom_seconds of the runtime's choice of algorithm. Seven
// parameters enter, kCollectiveParameters; all others of the profile stay as they are. Priors are the
// profile's own. The fit is that of calibrate/fit/fit.h with a soft-L1 loss and scaled noise: if the model
// misses the points by more than the stated noise, the spreads grow by as much.
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

/// Largest median error of a usable fit.
inline constexpr double kMostMedianError = 0.25;
/// Standard deviations of its prior from which a parameter is hardly one of this type of machine. Our own value.
inline constexpr double kFarOff = 4;

/// A point that is not used here, and the remedy.
struct LeftOut {
  logs::MeasuredCollective point;
  std::string reason, fix;
};

/// The points that can be predicted on a machine.
struct Selection {
  std::vector<logs::MeasuredCollective> points;
  /// Excluded by its table, not modelled, no place on the machine, or no path.
  std::vector<LeftOut> left_out;
  int repeated = 0;  ///< points that equal an earlier one in everything but their origin
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
    std::string_view verdict;  ///< as of verdict()
  };
  models::Profile profile;
  std::vector<Estimate> estimates;
  std::vector<Row> rows;
  double median_error = 0, worst_error = 0;  ///< of |error|
  const Row* worst = nullptr;
  /// c of calibrate/fit/fit.h: ratio of the model's misses to the noise, squared.
  double noise_scale = 1;
  int iterations = 0;
  bool converged = false;

  bool explains() const { return median_error <= kMostMedianError; }
  /// The shares of a published rate that moved farther than kFarOff, where machines of one type differ by a log-sd of
  /// `machine`. Latencies of old builds were many times longer.
  std::vector<Estimate> far_off(double machine) const;
};

/// The rows of a table as points, without those that contradict themselves. Empty if the table does not state
/// operation and ranks, or if an option changes which ranks talk (NccomTable::partners).
std::vector<logs::MeasuredCollective> points_of(const logs::NccomTable& table, const std::string& source);

/// Selects the points that can be predicted on `instance` with `profile`. Nodes that are not stated are as
/// few as hold the ranks.
Selection select_points(const std::vector<logs::MeasuredCollective>& points,
                        const topology::Instance& instance, const models::Profile& profile);

/// Points that can be predicted, and their predictions by profiles.
class CollectivePoints {
 public:
  /// Keeps a reference to `points`. Throws std::invalid_argument as predict_collectives() does.
  CollectivePoints(const std::vector<logs::MeasuredCollective>& points, const topology::Instance& instance);
  ~CollectivePoints();
  CollectivePoints(CollectivePoints&&) noexcept;
  CollectivePoints& operator=(CollectivePoints&&) noexcept;
  /// The time that nccom-test would print for each. Cost: O(ranks) a point.
  std::vector<double> seconds(const models::Profile& profile) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Predictions by `profile` for points that select_points() returned; no estimates. The result refers to
/// `points`. Throws std::invalid_argument if there is none, or one that cannot be predicted.
CollectiveFit predict_collectives(const std::vector<logs::MeasuredCollective>& points,
                                  const topology::Instance& instance, const models::Profile& profile);

/// Fits `prior` to such points. `noise`: distance of a right prediction from a point, as standard deviation
/// of the logarithm. Throws as predict_collectives().
CollectiveFit fit_collectives(const std::vector<logs::MeasuredCollective>& points,
                              const topology::Instance& instance, const models::Profile& prior,
                              double noise = 0.1);

}  // namespace trnplan::calibrate
