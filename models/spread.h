// How sure a predicted step time is, and which of two is the shorter one.
//
// To first order in the logarithms, with g = d log step / d log theta from the critical path and S the
// covariance of theta (parameters, then the factors of software stacks; docs/models.md, "Uncertainty"):
//   sigma^2 = g' S g + configuration_spread^2 + repeat_spread^2 [+ stack_spread^2] [+ release_spread^2]
// the last two where framework or release are unknown to the profile. Without a calibration S is diagonal,
// stack_spread^2 is added where either is not stated, and repeat_spread^2 is left out.
#pragma once

#include <vector>

#include "models/profile.h"
#include "models/step.h"

namespace trnplan::models {

/// Two-sided 90 % of a normal distribution, in standard deviations.
inline constexpr double kNinetyPercent = 1.6448536269514722;

/// d log step / d log p of every parameter, from the report's critical path; exact while the path stays the
/// same.
std::vector<double> log_gradient(const StepReport& report);

/// sigma above. `profile` and `software` are those of the simulation, `gradient` is log_gradient() of it.
double log_spread(const Profile& profile, const Software& software, std::vector<double> gradient);

/// P(step of a < step of b) for two strategies of one job on one software stack: the stack's factor is the
/// same for both and cancels, shared parameters count by the difference of the gradients, and each
/// configuration has its own unexplained part:
///   Phi( log(b / a) / sqrt( (g_a - g_b)' S (g_a - g_b) + 2 configuration_spread^2 ) )
/// 1/2 when both are equal. Cost: O(parameters^2).
double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile);

}  // namespace trnplan::models
