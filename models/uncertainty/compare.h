// Which of two strategies is the faster one, and how sure that is.
//
// Both run on one machine and one stack, so what is unknown of these cancels. Left are
//   parameters  by the difference of the two gradients: S of models/uncertainty/spread.h
//   operators   each errs by a factor of its own, exp(N(0, operator_spread^2)), the same for both strategies: it counts
//               by the difference of the shares that the operator has of the two steps. Nearly equal strategies are
//               compared by what differs between them.
// A strategy that spends at least as much on every operator and every parameter as another, and more on one, is
// slower for certain, whatever these factors are.
#pragma once

#include "models/parameters/profile.h"
#include "models/report/step_report.h"

namespace trnplan::models {

/// Which of two steps has more work in every part.
enum class Dominance { none, first_has_less, second_has_less };

/// By seconds of every operator and of every parameter, those of the second step times `scale`; parts that differ by
/// less than a billionth of the step are equal. none where both are equal in all, and for reports that name no
/// operators. Cost: O(operators log operators).
[[nodiscard]] Dominance dominance(const StepReport& a, const StepReport& b, double scale = 1);

/// Sum over operators of the squared difference of their shares of the two steps: 0 for steps made of the same, at
/// most 2. The distance of two cost breakdowns.
[[nodiscard]] double breakdown_distance(const StepReport& a, const StepReport& b);

/// Seconds of the two steps that the other does not spend on the same operator, the larger of the two sums.
[[nodiscard]] Seconds unshared_seconds(const StepReport& a, const StepReport& b);

/// Variance of log(step of b / step of a) from what the model misses of single operators: operator_spread^2
/// breakdown_distance(). Of reports that name no operators: each strategy has an own part, 2 configuration_spread^2.
[[nodiscard]] double own_variance(const StepReport& a, const StepReport& b, const Profile& profile);

/// log(cost of b / cost of a) of two strategies as the machine would run them: normal, or of a certain sign.
struct LogRatio {
  double mean = 0, sd = 0;
  Dominance dominance = Dominance::none;
  /// P(> 0): that a is the better one. 1/2 where nothing tells them apart; 0 or 1 where one dominates.
  [[nodiscard]] double positive() const;
};
/// `scale`: what a second of b costs, one of a costing 1.
[[nodiscard]] LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile,
                                 double scale = 1);

/// P(step of a < step of b) for two strategies of one job on one software stack, with g and S as in
/// models/uncertainty/spread.h:
///   Phi( log(b / a) / sqrt( (g_a - g_b)' S (g_a - g_b) + own_variance ) ), 0 or 1 where one dominates
/// 1/2 when both steps are equal. That is log_ratio(a, b).positive(). Cost: O(parameters^2).
[[nodiscard]] double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile);

}  // namespace trnplan::models
