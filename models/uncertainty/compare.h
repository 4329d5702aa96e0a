// Which of two strategies is the faster one, and how sure that is.
#pragma once

#include "models/parameters/profile.h"
#include "models/report/step_report.h"

namespace trnplan::models {

/// log(step of b / step of a) of two strategies as the machine would run them: normal.
struct LogRatio {
  double mean = 0, sd = 0;
  /// P(> 0): that a is the faster one. 1/2 where nothing tells them apart.
  double positive() const;
};
LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile);

/// P(step of a < step of b) for two strategies of one job on one software stack, with g, S and
/// configuration_spread as in models/uncertainty/spread.h: the stack's factor and the pace of repeated runs
/// are the same for both and cancel, shared parameters count by the difference of the gradients, and each
/// strategy has an unexplained part of its own:
///   Phi( log(b / a) / sqrt( (g_a - g_b)' S (g_a - g_b) + 2 configuration_spread^2 ) )
/// 1/2 when both steps are equal. That is log_ratio(a, b).positive(). Cost: O(parameters^2).
double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile);

}  // namespace trnplan::models
