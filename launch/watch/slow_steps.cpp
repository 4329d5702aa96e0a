#include "launch/watch/slow_steps.h"

#include <algorithm>
#include <cmath>

#include "launch/watch/alarms.h"
#include "units/median.h"
#include "units/normal.h"

namespace trnplan::launch {

namespace {

/// Steps whose spread is judged: enough for 8 % of it, few enough to be of one state of the machine.
constexpr std::size_t kMostForSpread = 100;

std::vector<double> deviations(const std::vector<double>& values, double middle) {
  std::vector<double> all;
  for (const double v : values) all.push_back(std::abs(v - middle));
  return all;
}

/// Adds the spread of the steps that are not pauses.
void add_spread(const std::vector<double>& seconds, std::size_t lines, SlowSteps& slow) {
  const std::vector<double> last =
      steady(last_of(seconds, slow.later ? lines : kMostForSpread), slow.seconds);
  if (last.size() < static_cast<std::size_t>(kStepsForSpread)) return;
  int equal = 0;
  for (std::size_t i = 1; i < last.size(); ++i) equal += last[i] == last[i - 1] ? 1 : 0;
  if (2 * equal >= static_cast<int>(last.size())) return;
  const double middle = median(last);
  if (!(middle > 0)) return;
  slow.steps = static_cast<int>(last.size());
  slow.spread = kDeviationToSigma * median(deviations(last, middle)) / middle;
}

}  // namespace

std::optional<SlowSteps> slow_steps(const RunLog& log, const io::PlanFile& plan) {
  const std::vector<double> seconds = log.alike();
  const auto [pace, without_saves, steps, smaller] = log.pace();
  if (two_paces(pace)) return std::nullopt;  // what makes all steps longer does not explain it
  const std::size_t lines = recent_lines(log);
  SlowSteps slow;
  bool believed = true;
  const auto set_step = [&](double with_saves, double without) {
    believed = without > 0;  // else the log states saves that take longer than the steps that they are in
    slow.seconds = believed ? without : with_saves;
    slow.saving = with_saves - slow.seconds;
  };
  if (seconds.size() >= 2 * lines) {
    slow.expected = median(first_of(seconds, lines));
    const double last = median(last_of(pace, lines));
    set_step(last, median(last_of(without_saves, lines)));
    slow.later = slow.expected <= plan.high.value && last / slow.expected - 1 > kDrift;
    slow.log_sd = kUsualSwing;
    slow.explained = slow.seconds / slow.expected - 1 <= kDrift;
  }
  if (!slow.later) {
    if (smaller) return std::nullopt;  // the prediction is of a larger batch
    const double mean = log.mean ? log.mean->seconds : 0;
    const double usual = pace.empty() ? mean : median(pace);
    set_step(usual, pace.empty() ? mean : median(without_saves));
    if (!(usual > plan.high.value) || !(plan.step.value > 0)) return std::nullopt;
    slow.expected = plan.step.value;
    slow.log_sd = std::max(kUsualSwing, std::log(plan.high / plan.step) / kNinetyPercent);
    slow.explained = slow.seconds <= plan.high.value;
  }
  add_spread(believed ? without_saves : pace, lines, slow);
  return slow;
}

}  // namespace trnplan::launch
