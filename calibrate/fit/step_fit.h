// Fit of the step model's parameters to measured steps and collectives at once.
//
// Unknown logarithms, each with a prior of its own:
//   theta       the profile's parameters that set times; priors are the profile's
//   framework   a factor of each software stack, around 1 with stack_spread
//   release     a factor of each release of it, around 1 with release_spread
//   configuration  the model's error for each configuration, around 1 with configuration_spread and the heavy
//               tails of Student's t, so that one odd configuration moves nothing else; not kept
//   build       for the nccom-test points only, and not kept: host_launch and barrier, and a factor of all
//               bandwidths around 1 with `build_spread`, since that runtime is older than most runs
//   kernels     for single kernels only, and not kept: a factor of all times of one operator around 1 with
//               `kernel_spread`, since code built for one kernel is not that of a training graph
// Observations: the logarithm of a step (the mean over a run group) with repeat_spread, of a collective with
// `collective_noise`, of a kernel (the mean of equal ones) with `kernel_noise`; all with the tails of
// Student's t (calibrate/fit/fit.h).
// Derivatives of steps come from the critical path of their simulation, which is done anew for each trial
// (calibrate/fit/step_bench.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/step_bench.h"
#include "models/parameters/profile.h"

namespace trnplan::calibrate {

/// Standard deviations beyond which a time is doubted to be of the stated job or kernel. One time in 1,000
/// lies beyond with normal errors (the fit's own errors have heavier tails, so it doubts somewhat too often).
inline constexpr double kDoubtful = 3.29;

struct StepFitOptions {
  double collective_noise = 0.2;  ///< log-sd of the error of the algorithms' model
  /// Log-sd of the rates that the nccom-test build and its runtime reach, compared with those of training
  /// stacks.
  double build_spread = 0.3;
  /// Log-sd of that build's host_launch and barrier around the profile's: builds lie between 6 and 500 us.
  double launch_spread = 2;
  /// Log-sd of a kernel's time around the model's at one efficiency for all shapes. Assumed: the model counts
  /// whole tiles and rates, but not how loads hide behind the array at each shape. No kernel is published
  /// with machine and shapes, so no measurement gives a better value.
  double kernel_noise = 0.1;
  /// Log-sd of the factor between an operator alone and in a training graph: other code, operands that wait
  /// in SBUF or come from a neighbour, no other traffic on HBM. Assumed, because no pair is published.
  double kernel_spread = 0.15;
  std::function<bool(const StepObservation&)> use;  ///< empty: all
  bool stacks = true;  ///< factors of software stacks; if false, other parameters absorb their effects
  /// True if widths come from the profile of the cost (calibrate/fit/fit.h). Otherwise they come from the
  /// curvature at the optimum alone, which is some ten times faster and somewhat too narrow.
  bool profile_widths = true;
};

struct StepFit {
  using Estimate = CollectiveFit::Estimate;
  models::Profile profile;  ///< with its calibration (without files and tool)
  std::vector<Estimate> estimates;
  std::map<std::string, double> configuration_effects;  ///< log(measured / predicted), as fitted
  std::map<logs::KernelOp, double> kernel_effects;      ///< log(operator alone / in a graph), as fitted
  std::size_t observations = 0, collectives = 0, kernels = 0;  ///< equal kernels count as one
  int iterations = 0;
  bool converged = false;
};

/// Fits `prior` to the observations of `bench`, to `collectives` and to `kernels` (may be null). Cost: some
/// ten iterations, each with one simulation (milliseconds) of every program. The same input gives the same
/// bits; the order of the steps does not matter.
StepFit fit_steps(const StepBench& bench, const CollectiveBench* collectives, const models::Profile& prior,
                  const StepFitOptions& options = {}, const KernelBench* kernels = nullptr);

}  // namespace trnplan::calibrate
