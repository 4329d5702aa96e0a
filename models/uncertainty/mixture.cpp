#include "models/uncertainty/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "units/normal.h"

namespace trnplan::models {

namespace {

/// Log-sd of a step in one state, from its interval.
double one_state_sd(const StepReport& r) {
  return std::log(r.high / r.step) / kNinetyPercent;
}

void set_interval(StepReport& report) {
  constexpr double kTail = 0.05;
  const Mixture parts = mixture_of(report);
  report.low = std::min(report.step, Seconds(std::exp(mixture_quantile(parts, kTail))));
  report.high = std::max(report.step, Seconds(std::exp(mixture_quantile(parts, 1 - kTail))));
}

}  // namespace

double mixture_probability(const Mixture& parts, double x) {
  double sum = 0;
  for (const MixturePart& p : parts) {
    const double sd = x > p.mean ? p.sd_above : p.sd;
    sum += p.weight * (sd > 0 ? normal_probability((x - p.mean) / sd) : x < p.mean ? 0 : 1);
  }
  return sum;
}

double mixture_quantile(const Mixture& parts, double p) {
  // The quantile lies between the least and the greatest of the parts' own.
  const double z = normal_quantile(p);
  double low = parts.front().quantile(z), high = low;
  for (const MixturePart& part : parts) {
    low = std::min(low, part.quantile(z));
    high = std::max(high, part.quantile(z));
  }
  for (;;) {
    const double middle = (low + high) / 2;
    if (!(low < middle && middle < high)) return middle;
    (mixture_probability(parts, middle) < p ? low : high) = middle;
  }
}

/// Between the quantiles a < b of a slice of probability 1 / n: mean (phi(a) - phi(b)) n, mean square
/// 1 + (a phi(a) - b phi(b)) n.
std::array<NormalSlice, kSlices> slices_above() {
  constexpr double kOfEach = 2.0 * kSlices;  // one over a slice's probability
  std::array<NormalSlice, kSlices> all;
  double a = 0;
  for (std::size_t i = 0; i < kSlices; ++i) {
    const bool last = i + 1 == kSlices;
    const double b = last ? 0 : normal_quantile(0.5 + static_cast<double>(i + 1) / kOfEach);
    const double at_a = normal_density(a), at_b = last ? 0 : normal_density(b);
    const double mean = (at_a - at_b) * kOfEach, square = 1 + (a * at_a - b * at_b) * kOfEach;
    all[i] = {mean, std::sqrt(std::max(0.0, square - mean * mean))};
    a = b;
  }
  return all;
}

Mixture plus_halves(const Mixture& parts, double below, double above) {
  if (below <= 0 && above <= 0) return parts;
  static const std::array<NormalSlice, kSlices> slices = slices_above();
  Mixture sum;
  for (const MixturePart& p : parts) {
    for (const NormalSlice& slice : slices) {
      for (const double width : {-below, above}) {
        const double sd = slice.sd * width;
        sum.push_back({p.weight / (2.0 * kSlices), p.mean + slice.mean * width, std::hypot(p.sd, sd),
                       std::hypot(p.sd_above, sd)});
      }
    }
  }
  return sum;
}

Mixture mixture_of(const StepReport& r) {
  const double mean = std::log(r.step.value);
  if (!r.slow) return {{1, mean, std::log(r.step / r.low) / kNinetyPercent, one_state_sd(r)}};
  return {{1 - r.slow->probability, mean, r.slow->usual_log_sd},
          {r.slow->probability, std::log(r.slow->step.value), r.slow->log_sd}};
}

Seconds mean_step(const StepReport& r) {
  return r.slow ? (1 - r.slow->probability) * r.step + r.slow->probability * r.slow->step : r.step;
}

void add_slow_state(StepReport& report, double probability, const StepReport& slow) {
  report.slow = SlowStep{probability, slow.step, one_state_sd(slow), one_state_sd(report)};
  set_interval(report);
}

void widen(StepReport& r, double log_sd) {
  if (r.slow) {
    r.slow->log_sd = std::hypot(r.slow->log_sd, log_sd);
    r.slow->usual_log_sd = std::hypot(r.slow->usual_log_sd, log_sd);
    set_interval(r);
    return;
  }
  const double known = one_state_sd(r);
  const double sd = std::sqrt(known * known + log_sd * log_sd);
  r.low = r.step * std::exp(-kNinetyPercent * sd);
  r.high = r.step * std::exp(kNinetyPercent * sd);
}

}  // namespace trnplan::models
