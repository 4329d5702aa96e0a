// Does it fit, and how likely? The bytes of a stage as a sum of uncertain terms.
//
//   bytes = states + [ (kept * activations + transient_memory * (logits + staging)) * fragmentation
//                      + runtime_reserve ] * distance
//   states       weights, gradients, optimizer: they surely exist, and are exact
//   kept         fused_activations where forward and backward are one graph, else kept_activations
//   distance     1, with a log-sd that the caller gives: how far from anything known to run
// Every factor is log-normal with median and log-sd of the profile, and independent of the others; all stages
// and instants of a step share them. So the terms depend on each other through fragmentation and distance.
//
// P(bytes <= limit) is Phi(b), b the distance of the surface bytes = limit from the medians in units of the
// standard deviations (first-order reliability: A. M. Hasofer and N. C. Lind, Exact and Invariant Second-Moment
// Code Format, J. Eng. Mech. 100, 1974; iteration of R. Rackwitz and B. Fiessler, Computers & Structures 9,
// 1978). The bytes are convex in the factors' logarithms, so they are first raised by what that adds to their
// median across the direction of the gradient: exp(1/2 sum_i w_i |v_i across|^2) for terms of weight w_i and
// gradient v_i. So it is exact where one factor alone is uncertain, within 0.01 of the exact value elsewhere
// (tests/models/memory/fit_probability_test.cpp), and falls (to 1e-7) when any of the bytes grow. Where the states alone
// need more than the limit it is 0. Of several instants and stages the least of their probabilities counts:
// they share the factors.
#pragma once

#include "models/memory/memory.h"

namespace trnplan::models {

/// What is known of the bytes of a stage.
struct FitDistribution {
  Bytes sure{};                             ///< states
  Bytes median{};                           ///< of all bytes, with the states, at the instant that decides
  double log_sd = 0;                        ///< of the logarithm of what is not sure, there, at its median
  double probability = 0;                   ///< P(all instants <= limit)
  PeakInstant instant = PeakInstant::loss;  ///< that decides
};

/// Cost: a microsecond at most. Requires: extra_log_sd >= 0, of the distance.
[[nodiscard]] FitDistribution fit_distribution(const StageMemory& m, Bytes limit, const Profile& profile,
                                               double extra_log_sd = 0);

/// Of the stage that fits least probably.
[[nodiscard]] FitDistribution fit_distribution(const Memory& memory, const Profile& profile,
                                               double extra_log_sd = 0);

/// P(all instants of the stage <= limit).
[[nodiscard]] double probability_of_fitting(const StageMemory& m, Bytes limit, const Profile& profile,
                                            double extra_log_sd = 0);

/// A probability below this is never asked for: what needs more than there is at its medians does not fit.
inline constexpr double kLeastFitProbability = 0.5;

/// Whether stages fit with one probability, asked many thousand times: what is clear at a glance is not worked
/// out. Keeps a reference to the profile.
class FitTest {
 public:
  /// `p`, or kLeastFitProbability if that is more. Requires: p < 1.
  FitTest(double p, const Profile& profile);
  FitTest(double, Profile&&) = delete;

  /// What is counted stays within the limit, and probability_of_fitting() >= p: a plan does not rest on what a
  /// compiler may drop.
  [[nodiscard]] bool fits(const StageMemory& m, Bytes limit) const;

 private:
  /// What each byte counted may become without any doubt that P >= p.
  struct Safe {
    double activations, transient, runtime;
  };

  const Profile& profile_;
  double probability_;
  Safe apart_, one_graph_;
};

/// The same, once.
[[nodiscard]] bool fits_with(double p, const StageMemory& m, Bytes limit, const Profile& profile);

}  // namespace trnplan::models
