// The faster of two strategies, with its probability.
//
// Both run on one machine and one stack, so uncertainty of these cancels. Two sources remain:
//   parameters  by the difference of the two gradients: S of models/uncertainty/spread.h
//   operators   each errs by a factor of its own, exp(N(0, operator_spread^2)), the same for both strategies,
//               which counts by the difference of the operator's shares of the two steps. So nearly equal
//               strategies are compared by the parts in which they differ.
// A layout that was learnt has a factor with a covariance instead.
// A strategy that spends at least as much on every operator and every parameter as another, and more on one,
// is certainly slower, whatever these factors are.
#pragma once

#include "models/parameters/profile.h"
#include "models/report/step_report.h"
#include "models/uncertainty/mixture.h"

namespace trnplan::models {

/// The step that has no more work in any part, and less in one.
enum class Dominance { none, first_has_less, second_has_less };

/// Compares seconds of every operator and of every parameter, those of the second step times `scale`. Parts
/// that differ by less than a billionth of the step are equal. none where all are equal, for reports that name
/// no operators, and for a layout that was learnt, whose factor is not work. Cost: O(operators log operators).
[[nodiscard]] Dominance dominance(const StepReport& a, const StepReport& b, double scale = 1);

/// Distance of two cost breakdowns: the sum over operators of the squared difference of their shares of the
/// two steps. It is 0 for steps with the same breakdown, at most 2.
[[nodiscard]] double breakdown_distance(const StepReport& a, const StepReport& b);

/// Seconds of one step that the other does not spend on the same operator; the larger of the two sums.
[[nodiscard]] Seconds unshared_seconds(const StepReport& a, const StepReport& b);

/// Variance of log(step of b / step of a) from the model's errors of single operators: operator_spread^2
/// breakdown_distance(). For reports that name no operators each strategy has a part of its own: 2
/// configuration_spread^2. Two layouts that were learnt have none: their factors are in S. Where one was, the
/// other's is that which remains of its own_log_sd^2 once the first is known, with the correlation of the two
/// own errors for which the variance of their difference is that of operators; the step of the other is not
/// moved by what the first taught, so that move counts, squared.
[[nodiscard]] double own_variance(const StepReport& a, const StepReport& b, const Profile& profile);

/// log(cost of b / cost of a) of two strategies on the real machine: normal, a mixture over the states of the
/// network, or of a known sign.
struct LogRatio {
  double mean = 0, sd = 0;  ///< in the usual state
  Dominance dominance = Dominance::none;
  Mixture states;  ///< empty: the usual state alone
  /// Probability that it is positive, that is that a is better. 1/2 where nothing tells them apart; 0 or 1
  /// where one dominates.
  [[nodiscard]] double positive() const;
  /// Value that it is below with probability p, 0 < p < 1; `dominance` does not count.
  [[nodiscard]] double quantile(double p) const;
  /// Adds the variance of something independent, at least minus that of the ratio.
  void widen(double variance);
};
/// The distribution of the ratio. Where one of the two layouts was learnt, the prediction of the other has its own
/// error whole: its interval takes nothing from the first. So the ratio is not surer than the two intervals leave it,
/// whatever they share: its sd is at least the difference of theirs, |sd of log b - sd of log a|. `scale` is the cost
/// of a second of b when a second of a costs 1.
[[nodiscard]] LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile,
                                 double scale = 1);

/// P(step of a < step of b) for two strategies of one job on one software stack, with g and S as in
/// models/uncertainty/spread.h:
///   Phi( log(b / a) / sqrt( (g_a - g_b)' S (g_a - g_b) + own_variance ) ), 0 or 1 where one dominates
/// weighted over the states of a network that was not measured, which both find in one state.
/// It is 1/2 when both steps are equal, and equals log_ratio(a, b).positive(). Cost: O(parameters^2).
[[nodiscard]] double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile);

}  // namespace trnplan::models
