// Mixtures of log-normals: a step whose network may be in one of several states.
//
//   F(x) = sum_i w_i Phi((x - m_i) / s_i)   x, m_i, s_i: natural logarithms
// The 90 % interval of a step is F^-1(0.05) .. F^-1(0.95) over its states: skewed to the slow side. The step that
// is stated stays that of the usual state, by far the likeliest single value; a run's median is F^-1(0.5).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "models/report/step_report.h"

namespace trnplan::models {

/// A part of the distribution of a logarithm: normal, or of two halves of a normal with an sd each.
struct MixturePart {
  double weight = 1, mean = 0, sd = 0;
  double sd_above = sd;  ///< above the mean, which is then the median

  [[nodiscard]] double quantile(double z) const { return mean + z * (z > 0 ? sd_above : sd); }
};
using Mixture = std::vector<MixturePart>;

/// F(x). Parts of sd 0 are steps. Weights add up to 1.
[[nodiscard]] double mixture_probability(const Mixture& parts, double x);

/// F^-1(p), 0 < p < 1, by bisection to the last digits of a double. Requires: parts. Cost: 1e2 values of F.
[[nodiscard]] double mixture_quantile(const Mixture& parts, double p);

/// One of the slices of equal probability above the mean of a standard normal: its mean and sd.
struct NormalSlice {
  double mean = 0, sd = 0;
};
inline constexpr std::size_t kSlices = 8;
[[nodiscard]] std::array<NormalSlice, kSlices> slices_above();

/// The sum of a variable with that mixture and an independent one of median 0, of two halves of a normal with the sds
/// `below` and `above`: each part once for each slice of the halves, moved by its mean and widened by its sd. The
/// median lies above the sum of both medians where `above` is the wider. Unchanged where both are 0.
[[nodiscard]] Mixture plus_halves(const Mixture& parts, double below, double above);

/// Distribution of the logarithm of the step, in s: one part, or one for each state of the network.
[[nodiscard]] Mixture mixture_of(const StepReport& report);

/// Mean of the step over the states of the network, in each its median: what a plan costs where the state is unknown.
[[nodiscard]] Seconds mean_step(const StepReport& report);

/// Adds the slow state, in which the step is that of `slow` alone, and sets the interval over both.
void add_slow_state(StepReport& report, double probability, const StepReport& slow);

/// Widens the interval by an independent log-sd of the step.
void widen(StepReport& report, double log_sd);

}  // namespace trnplan::models
