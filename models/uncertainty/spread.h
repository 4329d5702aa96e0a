// The uncertainty of a predicted step time.
//
// To first order in the logarithms, with g = d log step / d log theta from the critical path and S the
// covariance of theta (parameters, then the factors of software stacks; docs/models.md, "Uncertainty"):
//   sigma^2 = g' S g + configuration_spread^2 + repeat_spread^2 [+ stack_spread^2] [+ release_spread^2]
// with encoder_spread in place of configuration_spread where the network is not causal. The last two terms
// apply where framework or release are unknown to the profile. Without a calibration S is diagonal. Without
// one that was fitted to steps, only stack_spread^2 is added where either is not stated or the machine has no
// releases, and repeat_spread^2 is left out. At a measured site the site's factor is in S and stands for both; for a
// layout that was measured there its own factor stands for configuration_spread^2. Where a cluster's law of network
// states was applied, (NetworkState::step_spread log2(nodes))^2 is added. Where tokens are dispatched to experts
// and no run of the site was measured, the device's spread_of_dispatch^2 is added, which all steps on a
// stack share. Where only other stacks were measured on the machine, or the stack on other machines, S
// counts with the part that is borrowed, and FactorShares::variance is added.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/report/step_report.h"

namespace trnplan::models {

/// d log step / d log p of every parameter, from the report's critical path; exact while the path stays the
/// same.
std::vector<double> log_gradient(const StepReport& report);

/// The sigma above. `profile`, `job` and `strategy` are those of the simulation, `gradient` is its
/// log_gradient().
double log_spread(const Profile& profile, const Job& job, const Strategy& strategy,
                  std::vector<double> gradient);

/// The unexplained log-sd of a configuration, of a causal network or another.
double own_spread(const Profile& profile, bool causal);
/// Place in the covariance S of the factor of this layout of the job, on its machine and stack; nullopt where the
/// profile has not learnt it.
[[nodiscard]] std::optional<std::size_t> learnt_layout(const Profile& profile, const Job& job,
                                                       const Strategy& strategy);

/// True if the profile was fitted to published steps, and so to the stacks that ran them.
bool knows_stacks(const Profile& profile);

/// True if the machine's software has releases that set the pace of steps: those of the Neuron SDK.
bool has_releases(const topology::Instance& instance);

/// The parts of sigma^2.
struct SpreadParts {
  /// Gradient of the parameters, then of the calibration's stacks: their factor_shares().
  std::vector<double> gradient;
  double own = 0;        ///< of this configuration only
  double shared = 0;     ///< of an unknown framework, release or site; all steps on it share it
  double repeat = 0;     ///< of a run
  bool repeats = false;  ///< the interval has `repeat`: steps were fitted
};
SpreadParts spread_parts(const Profile& profile, const Job& job, const Strategy& strategy,
                         std::vector<double> gradient);

/// The covariance S.
std::vector<std::vector<double>> covariance_of(const Profile& profile);

/// The traits of a job that the runs of a fit may not cover: nodes, tensor_parallel, pipeline_parallel,
/// sequence, parameters.
std::vector<std::pair<std::string, double>> traits_of(const Job& job, const Strategy& strategy);

/// A trait outside the runs that a profile was fitted to. The interval is not widened for it, so it may be
/// too narrow.
struct Extrapolation {
  FittedRange fitted;
  double value = 0;
};
std::vector<Extrapolation> extrapolations(const Profile& profile, const Job& job, const Strategy& strategy);

/// g' S g. `gradient` is that of the parameters and, if it is longer, of the calibration's stacks.
double log_variance(const Profile& profile, const std::vector<double>& gradient);

}  // namespace trnplan::models
