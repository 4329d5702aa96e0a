// Parameters of the step model, fitted to measured steps and collectives at once.
//
// Unknown logarithms, each with a prior of its own:
//   theta       the profile's parameters that set times; priors are the profile's
//   framework   a factor of each software stack, around 1 with stack_spread
//   release     a factor of each release of it, around 1 with release_spread
//   configuration  what the model misses of each configuration, around 1 with configuration_spread and the
//               heavy tails of Student's t, so that one odd configuration moves nothing else; not kept
//   build       of the nccom-test points only, and not kept: host_launch and barrier, and a factor of all
//               bandwidths around 1 with `build_spread`, since that runtime is older than most runs
//   kernels     of kernels alone, and not kept: a factor of all times of one operator around 1 with
//               `kernel_spread`, since code written or compiled for it alone is not that of a training graph
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

/// Standard deviations beyond which a time is not believed to be of the job or kernel it is given for: one of
/// 1,000 would be, of normal errors (the fit's own have heavier tails, so this doubts rather too often).
inline constexpr double kDoubtful = 3.29;

struct StepFitOptions {
  double collective_noise = 0.2;  ///< log-sd: what the algorithms' model misses
  /// Log-sd of the rates that the nccom-test build and its runtime reach against those of training stacks.
  double build_spread = 0.3;
  /// Log-sd of its host_launch and barrier around the profile's: builds lie between 6 and 500 us.
  double launch_spread = 2;
  /// Log-sd of a kernel's time around the model's at one efficiency for all shapes. Assumed: whole tiles and
  /// rates are counted, how loads hide behind the array at each shape is not; no kernel is published with
  /// machine and shapes, so nothing measured says more.
  double kernel_noise = 0.1;
  /// Log-sd of the factor between an operator alone and in a training graph: other code, operands that wait
  /// in SBUF or come from a neighbour, nothing beside it on HBM. Assumed for want of a published pair.
  double kernel_spread = 0.15;
  std::function<bool(const StepObservation&)> use;  ///< empty: all
  bool stacks = true;  ///< factors of software stacks; without, what they differ by is left to the others
  /// Widths from the profile of the cost (calibrate/fit/fit.h) in place of the curvature at the optimum
  /// alone, which is some ten times faster and rather too narrow.
  bool profile_widths = true;
};

struct StepFit {
  using Estimate = CollectiveFit::Estimate;
  models::Profile profile;  ///< with its calibration (without files and tool)
  std::vector<Estimate> estimates;
  std::map<std::string, double> configuration_effects;  ///< log of measured over predicted, as fitted
  std::map<logs::KernelOp, double> kernel_effects;  ///< log of an operator alone over in a graph, as fitted
  std::size_t observations = 0, collectives = 0, kernels = 0;  ///< equal kernels are one
  int iterations = 0;
  bool converged = false;
};

/// Fits `prior` to the observations of `bench`, to `collectives` and to `kernels` (may be null). Cost: some
/// ten iterations, each one simulation (milliseconds) of every program. The same input gives the same bits;
/// the order of the steps does not matter.
StepFit fit_steps(const StepBench& bench, const CollectiveBench* collectives, const models::Profile& prior,
                  const StepFitOptions& options = {}, const KernelBench* kernels = nullptr);

}  // namespace trnplan::calibrate
