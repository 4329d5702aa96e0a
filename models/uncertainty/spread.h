// How sure a predicted step time is.
//
// To first order in the logarithms, with g = d log step / d log theta from the critical path and S the
// covariance of theta (parameters, then the factors of software stacks; docs/models.md, "Uncertainty"):
//   sigma^2 = g' S g + configuration_spread^2 + repeat_spread^2 [+ stack_spread^2] [+ release_spread^2]
// with encoder_spread in place of configuration_spread where the network is not causal,
// the last two where framework or release are unknown to the profile. Without a calibration S is diagonal;
// without one that was fitted to steps, stack_spread^2 alone is added where either is not stated, and
// repeat_spread^2 is left out.
#pragma once

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

/// sigma above. `profile` and `software` are those of the simulation, `gradient` is log_gradient() of it.
double log_spread(const Profile& profile, const Software& software, std::vector<double> gradient,
                  bool causal = true);

/// What is not explained of a configuration of a causal network or of another: a log-sd.
double own_spread(const Profile& profile, bool causal);

/// The parts of sigma^2.
struct SpreadParts {
  std::vector<double>
      gradient;       ///< of the parameters, then of the calibration's stacks: 1 where the step is on it
  double own = 0;     ///< of this configuration alone
  double shared = 0;  ///< of a framework or release that is not known: every step on it has the same
  double repeat = 0;  ///< of a run; the interval leaves it out where no step was fitted
};
SpreadParts spread_parts(const Profile& profile, const Software& software, std::vector<double> gradient,
                         bool causal = true);

/// S.
std::vector<std::vector<double>> covariance_of(const Profile& profile);

/// What the runs of a fit may differ in from a job: nodes, tensor_parallel, pipeline_parallel, sequence,
/// parameters.
std::vector<std::pair<std::string, double>> traits_of(const Job& job, const Strategy& strategy);

/// A trait beyond the runs that a profile was fitted to, where the interval may be too narrow: it is not
/// widened.
struct Extrapolation {
  FittedRange fitted;
  double value = 0;
};
std::vector<Extrapolation> extrapolations(const Profile& profile, const Job& job, const Strategy& strategy);

/// g' S g; `gradient` is that of the parameters, then, where it is longer, of the calibration's stacks.
double log_variance(const Profile& profile, const std::vector<double>& gradient);

}  // namespace trnplan::models
