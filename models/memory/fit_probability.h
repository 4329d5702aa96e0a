// Probability that a stage fits: its bytes as a sum of uncertain terms.
//
//   bytes = states + [ (kept * activations + transient_memory * (logits + staging)) * fragmentation
//                      + runtime_reserve ] * distance
//   states       weights, gradients, optimizer: always present, and exact. Where one allocator's pool holds them
//                too (GPUs), they are a term inside, multiplied by fragmentation alone
//   kept         fused_activations where forward and backward are one graph, else kept_activations
//   distance     1, with a log-sd that the caller gives: the distance from everything known to run
// Every factor is log-normal with median and log-sd of the profile, and independent of the others; all stages
// and instants of a step share them. So the terms depend on each other through fragmentation and distance.
//
// P(bytes <= limit) is Phi(b), b the distance of the surface bytes = limit from the medians in units of the
// standard deviations (first-order reliability: A. M. Hasofer and N. C. Lind, Exact and Invariant
// Second-Moment Code Format, J. Eng. Mech. 100, 1974; iteration of R. Rackwitz and B. Fiessler, Computers &
// Structures 9, 1978). The bytes are convex in the factors' logarithms, so they are first raised by the
// amount that this convexity adds to their median across the direction of the gradient: exp(1/2 sum_i w_i
// |v_i across|^2) for terms of weight w_i and gradient v_i. The result is exact where only one factor is
// uncertain and within 0.01 of the exact value elsewhere (tests/models/memory/fit_probability_test.cpp). It
// falls (to 1e-7) when any of the bytes grow. It is 0 where the states alone need more than the limit. Of
// several instants and stages the smallest probability counts, because they share the factors.
//
// For a pool Student's t with three degrees of freedom takes the place of Phi: the spread of fragmentation is
// known from four sources only (docs/accuracy.md, "Memory on GPUs"), and a normal quantity divided by a standard
// deviation estimated from n values is distributed as t with n - 1 (W. S. Gosset, Biometrika 6, 1908). The tail, the
// medians of fragmentation and their spreads were chosen among some 25 variants with the outcomes of published runs in
// view, so that their calibration on these runs is optimistic.
#pragma once

#include <array>

#include "models/memory/memory.h"

namespace trnplan::models {

/// The distribution of the bytes of a stage.
struct FitDistribution {
  Bytes sure{};                             ///< the exact part: states that no pool holds
  Bytes median{};                           ///< of all bytes, states included, at the deciding instant
  double log_sd = 0;                        ///< of the logarithm of the uncertain part, at its median there
  double probability = 0;                   ///< P(all instants <= limit)
  PeakInstant instant = PeakInstant::loss;  ///< the deciding instant
};

/// The distribution of one stage. `extra_log_sd` is that of the distance. Requires: extra_log_sd >= 0. Cost:
/// a microsecond at most.
[[nodiscard]] FitDistribution fit_distribution(const StageMemory& m, Bytes limit, const Profile& profile,
                                               double extra_log_sd = 0);

/// The distribution of the stage with the smallest probability.
[[nodiscard]] FitDistribution fit_distribution(const Memory& memory, const Profile& profile,
                                               double extra_log_sd = 0);

/// The uncertain factors of all plans; those of one and of several graphs, and of both kinds of pools, are others.
enum class FitFactor {
  kept_activations,
  fused_activations,
  transient,
  runtime,
  fragmentation,
  mixed_fragmentation,
  distance
};
inline constexpr std::size_t kFitFactors = 7;

/// The nearest point to the medians at which a plan needs all of a limit.
struct FitPoint {
  double probability = 0;  ///< P(all instants <= limit)
  /// Direction from the medians to the point, by FitFactor, in standard deviations, of length 1; 0 where nothing is
  /// uncertain. The bytes of two plans depend on each other by the product of their directions.
  std::array<double, kFitFactors> direction{};
};

/// The point of the stage with the smallest probability.
[[nodiscard]] FitPoint fit_point(const Memory& memory, Bytes limit, const Profile& profile,
                                 double extra_log_sd = 0);

/// Quantities that programs report as the memory of a run: torch's max_memory_allocated, the bytes of tensors;
/// max_memory_reserved, its pool; and what nvidia-smi shows, with what the device holds outside the pool.
enum class HeldMemory { allocated, reserved, device };

/// The median of one of them at the peak of a run on a device of `limit` bytes. Without a pool all tensors count as
/// they are. A pool has, where StageMemory::queued is known, fragmentation times the tensors and what is queued, but no
/// more than the device leaves it; else fragmentation or mixed_fragmentation times the tensors.
[[nodiscard]] Bytes held_by(const StageMemory& m, const Profile& profile, HeldMemory what, Bytes limit);

/// P(all instants of the stage <= limit).
[[nodiscard]] double probability_of_fitting(const StageMemory& m, Bytes limit, const Profile& profile,
                                            double extra_log_sd = 0);

/// The smallest probability that may be requested: a stage that exceeds the limit at its medians does not
/// fit.
inline constexpr double kLeastFitProbability = 0.5;

/// Tests whether stages fit with one given probability, many thousand times: skips the computation where a
/// bound decides. Keeps a reference to the profile.
class FitTest {
 public:
  /// Tests with probability `p`, or kLeastFitProbability if that is larger. Requires: p < 1.
  FitTest(double p, const Profile& profile);
  FitTest(double, Profile&&) = delete;

  /// True if the counted bytes stay within the limit and probability_of_fitting() >= p: a plan does not
  /// depend on bytes that a compiler may drop.
  [[nodiscard]] bool fits(const StageMemory& m, Bytes limit) const;

 private:
  /// Factors for the counted bytes that guarantee P >= p if the product fits.
  struct Safe {
    double activations = 1, transient = 1, runtime = 1, states = 1;
  };

  const Profile& profile_;
  double probability_;
  std::array<double, 2> deviations_;  ///< from the medians, of that probability; of a pool
  std::array<Safe, 8> safe_;          ///< of one_graph, pooled and mixed as bits
};

}  // namespace trnplan::models
