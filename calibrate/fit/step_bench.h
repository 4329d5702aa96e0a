// Predictions that a fit needs: the steps of measured runs and the points of nccom-test, with their
// derivatives. Equal programs are simulated once, whatever stack ran them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "models/collective/collective_memory.h"
#include "models/parameters/profile.h"
#include "models/report/step_report.h"
#include "topology/chip_graph.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// Rows that are one observation: one run group of one program on one stack.
struct StepObservation {
  std::vector<std::size_t> rows;  ///< of the measured steps
  std::size_t program = 0;
  std::string configuration;
  models::Software software;
  double log_seconds = 0;  ///< mean of the logarithms
  double log_sd = 0;       ///< of that mean, without repeat_spread
  bool at_most = false;    ///< a bound, not a measurement
};

/// Simulated time of a program.
struct ProgramTime {
  double log_seconds = 0;
  std::vector<double> gradient;  ///< models::log_gradient
};

/// The programs of measured steps. Keeps a reference to the steps.
class StepBench {
 public:
  explicit StepBench(const std::vector<MeasuredStep>& steps);
  const std::vector<MeasuredStep>& steps() const { return steps_; }
  const std::vector<StepObservation>& observations() const { return observations_; }
  /// Returns the time of a program on no stack. Caches the answers for the latest few hundred profiles'
  /// values.
  ProgramTime time(std::size_t program, const models::Profile& profile) const;
  /// Returns the whole simulation of a program on no stack; not cached.
  models::StepReport report(std::size_t program, const models::Profile& profile) const;
  std::size_t programs() const { return programs_.size(); }

 private:
  const std::vector<MeasuredStep>& steps_;
  std::vector<StepObservation> observations_;
  struct Program {
    std::size_t step;  ///< the first step of it
    const topology::ChipGraph* graph;
  };
  std::vector<Program> programs_;
  std::vector<std::unique_ptr<topology::ChipGraph>> graphs_;  ///< one per kind of machine
  mutable std::vector<models::CollectiveMemory> memories_;    ///< one per program
  mutable std::map<std::vector<double>, std::map<std::size_t, ProgramTime>> known_;
};

/// Points of nccom-test that count along with the steps. Caches its answers.
class CollectiveBench {
 public:
  /// `points` as select_points() returns them. Throws std::invalid_argument as predict_collectives() does.
  CollectiveBench(std::vector<logs::MeasuredCollective> points, const topology::Instance& instance);
  CollectiveBench(const CollectiveBench&) = delete;  // timed_ refers to points_
  CollectiveBench& operator=(const CollectiveBench&) = delete;
  const std::vector<logs::MeasuredCollective>& points() const { return points_; }

  /// Logarithms of the seconds with d / d log of kCollectiveParameters, at `profile`, to first order from the
  /// nearest point of a grid of 5 % in each parameter: the second order is far below the noise of the points.
  struct Answer {
    std::vector<double> log_seconds;
    std::vector<std::vector<double>> gradient;  ///< [parameter][point]
  };
  Answer at(const models::Profile& profile) const;

 private:
  std::vector<logs::MeasuredCollective> points_;
  CollectivePoints timed_;
  mutable std::map<std::vector<int>, Answer> known_;
};

}  // namespace trnplan::calibrate
