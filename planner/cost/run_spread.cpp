#include "planner/cost/run_spread.h"

#include <algorithm>
#include <cmath>

namespace trnplan::planner {

namespace {

struct Moments {
  double mean = 0, square = 0;
  [[nodiscard]] double variance() const { return square - mean * mean; }
};

/// Time until a failure that comes before `x`. Below the limit failures are as likely at any time.
Moments failed_before(double x) {
  constexpr double kEven = 1e-5;
  if (x < kEven) return {x / 2, x * x / 3};
  const double share = -std::expm1(-x), survives = std::exp(-x);
  return {(share - x * survives) / share, (2 * share - survives * (2 * x + x * x)) / share};
}

/// Sum of a geometric number of terms, whose success has the probability `success`: its mean and variance.
struct Sum {
  double mean, variance;
};
Sum geometric_sum(double success, double mean, double variance) {
  const double odds = (1 - success) / success;
  return {odds * mean, odds * variance + odds / success * mean * mean};
}

/// Time from a failure until the run goes on.
Sum recovery_time(const FailureModel& m) {
  Moments done, lost;
  double success = 0;
  for (const bool replaced : {false, true}) {
    for (const bool by_person : {false, true}) {
      const double share = (replaced ? m.replacement_share : 1 - m.replacement_share) *
                           (by_person ? m.person_share : 1 - m.person_share);
      Seconds length = m.recovery;
      if (replaced) length += m.replacement;
      if (by_person) length += m.person;
      const double x = length / m.mtbf, survives = std::exp(-x);
      const Moments failed = failed_before(x);
      success += share * survives;
      done.mean += share * survives * x;
      done.square += share * survives * x * x;
      lost.mean += share * -std::expm1(-x) * failed.mean;
      lost.square += share * -std::expm1(-x) * failed.square;
    }
  }
  done = {done.mean / success, done.square / success};
  if (success >= 1) return {done.mean, 0};
  lost = {lost.mean / (1 - success), lost.square / (1 - success)};
  const Sum attempts = geometric_sum(success, lost.mean, lost.variance());
  return {done.mean + attempts.mean, done.variance() + attempts.variance};
}

}  // namespace

double interval_spread(const FailureModel& m, Seconds interval) {
  const double period = (std::max(interval, m.unsafe) + m.stall) / m.mtbf;
  const Moments until = failed_before(period);
  const Sum recovery = recovery_time(m);
  const Sum lost = geometric_sum(std::exp(-period), until.mean + recovery.mean + m.unsafe / m.mtbf,
                                 until.variance() + recovery.variance);
  return std::sqrt(lost.variance) / (period + lost.mean);
}

}  // namespace trnplan::planner
