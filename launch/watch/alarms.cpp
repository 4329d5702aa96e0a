#include "launch/watch/alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "units/median.h"

namespace trnplan::launch {

namespace {

/// Recovery from a spike: A. Chowdhery et al., PaLM, arXiv 2204.02311, section 5.1.
constexpr const char* kGoBack =
    "if it stays high, go back to a checkpoint from before step {} and skip the batches around it, as PaLM "
    "did (100 steps back, 200 to 500 batches skipped); if it happens again, lower the learning rate";
constexpr const char* kDiverges =
    "the run may diverge: unusual batches, too high a learning rate, or a device that computes wrongly";

std::string about_spike(const Spike& s, const char* what, int spikes) {
  std::string said =
      fmt::format("{} was {:.4g} and rose to {:.4g} at step {}", what, s.level, s.highest, s.first);
  if (s.returned) {
    said += fmt::format("; it was back to normal at step {}", *s.returned);
  } else if (s.left) {
    said += fmt::format("; the run was started again from before, after step {}", s.last);
  } else {
    said += fmt::format("; {} steps later it is still high", s.last - s.first);
  }
  return spikes > 1 ? said + fmt::format("; {} such spikes in all", spikes) : said;
}

void look_for_spike(const CurveReading& curve, const char* kind, const char* what, io::WatchReport& r) {
  if (!curve.spike) return;
  const Spike& s = *curve.spike;
  const bool over = s.returned || s.left;
  r.alarms.push_back({kind, about_spike(s, what, curve.spikes), kDiverges,
                      over ? "it is over: compare the loss before and after; if it is worse, " +
                                 fmt::format("go back to a checkpoint from before step {}", s.first)
                           : fmt::format(fmt::runtime(kGoBack), s.first),
                      s.first, s.line});
}

void look_for_rise(const CurveReading& norms, io::WatchReport& r) {
  if (norms.lost) {
    r.alarms.push_back({"gradient-norm", "the gradient norm is not a finite number",
                        "a value overflowed: the step is useless",
                        "go back to a checkpoint from before it, and check the loss of the steps before",
                        std::nullopt, 0});
    return;
  }
  if (!norms.above) return;
  std::string said =
      fmt::format("gradient norm {:.4g} at step {}, above {:.0f} times its lowest value {:.4g} (step {})",
                  *norms.last, norms.last_step, kNormRise, *norms.lowest, norms.lowest_step);
  if (*norms.above != norms.last_step) said += fmt::format(", since step {}", *norms.above);
  r.alarms.push_back({"gradient-norm", said, kDiverges, fmt::format(fmt::runtime(kGoBack), *norms.above),
                      *norms.above, norms.last_line});
}

}  // namespace

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

std::vector<double> steady(const std::vector<double>& values, double typical) {
  std::vector<double> kept;
  for (const double v : values) {
    if (v <= kSlowStep * typical) kept.push_back(v);
  }
  return kept;
}

std::vector<double> last_of(const std::vector<double>& values, int count) {
  const auto n = std::min<std::size_t>(values.size(), static_cast<std::size_t>(count));
  return {values.end() - static_cast<std::ptrdiff_t>(n), values.end()};
}

void look_for_drift(const std::vector<double>& seconds, io::WatchReport& r) {
  if (seconds.size() < 2 * static_cast<std::size_t>(kRecentSteps)) return;
  const double first = median({seconds.begin(), seconds.begin() + kRecentSteps});
  const std::vector<double> recent = last_of(seconds, kRecentSteps);
  const std::vector<double> even = steady(recent, first);
  const auto slow = static_cast<int>(recent.size() - even.size());
  if (slow >= kSlowSteps) {
    r.alarms.push_back(
        {"straggler",
         fmt::format("{} of the last {} steps took more than {:.0f} % longer than the first {}", slow,
                     kRecentSteps, (kSlowStep - 1) * 100, kRecentSteps),
         "a node may be slow: every step waits for the slowest node",
         "compare neuron-monitor on the nodes, and take the slow one out", std::nullopt, 0});
  }
  if (even.empty()) return;
  const double change = mean_of(even) / first - 1;
  if (std::abs(change) > kDrift) {
    r.alarms.push_back(
        {"drift",
         fmt::format("the last {} steps took {:.4g} s, the first {} took {:.4g}: {:+.1f} %", kRecentSteps,
                     mean_of(even), kRecentSteps, first, change * 100),
         change > 0 ? "the machine, its storage or the loading of data became slower"
                    : "the first steps were slowed by something that is over: a busy file system, other jobs",
         change > 0 ? "compare neuron-monitor on the nodes, and time the loading of a batch"
                    : "nothing to fix: --calibrate learns from it",
         std::nullopt, 0});
  }
}

void look_at_learning(const RunLog& log, io::WatchReport& r) {
  if (log.loss_lost) {
    r.alarms.push_back({"loss", "the loss is NaN: the run has failed",
                        "a value overflowed, or the run diverged",
                        "go back to an earlier checkpoint; lower the learning rate if it comes again",
                        std::nullopt, 0, true});
  }
  look_for_rise(log.gradient_norms, r);
  look_for_spike(log.gradient_norms, "gradient-spike", "the gradient norm", r);
  look_for_spike(log.losses, "loss-spike", "the loss", r);
}

void look_for_gaps(const RunLog& log, io::WatchReport& r) {
  if (!log.gaps) return;
  const StepGaps& g = *log.gaps;
  r.alarms.push_back(
      {"missing-steps",
       fmt::format(
           "the log goes from step {} to {} although it states {}; {:.0f} line{} missing in {} place{}",
           g.after, g.before, g.interval == 1 ? "every step" : fmt::format("every {} steps", g.interval),
           g.lines, g.lines == 1 ? " is" : "s are", g.gaps, g.gaps == 1 ? "" : "s"),
       "output was lost, the log is an excerpt, or the run went on elsewhere in between",
       "look at the whole output of the rank that prints (with NxD's pipelines the first rank of the last "
       "stage)",
       g.before, g.line});
}

std::optional<double> most_silence(const std::vector<double>& seconds) {
  if (seconds.empty()) return std::nullopt;
  return std::max({kSilentSeconds, kSilentSteps * median(seconds),
                   kSilentPauses * *std::max_element(seconds.begin(), seconds.end())});
}

void look_for_silence(double silent, const std::vector<double>& seconds, io::WatchReport& r) {
  const auto most = most_silence(seconds);
  if (!most || r.finished || silent <= *most) return;
  r.alarms.push_back(
      {"stalled", fmt::format("no step for {:.0f} s; steps took {:.4g} s before", silent, median(seconds)),
       "a node hangs, a collective waits for a rank that has died, or a checkpoint is written slowly",
       "look for the first rank that stopped (neuron-top shows it idle), and take its node out; the job "
       "goes on from the last checkpoint",
       r.step, 0});
}

}  // namespace trnplan::launch
