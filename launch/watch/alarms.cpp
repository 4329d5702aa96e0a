#include "launch/watch/alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "launch/watch/remedies.h"
#include "text/figures.h"
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
    r.alarms.push_back(
        {"gradient-norm",
         fmt::format("the gradient norm is not a finite number from step {} on", norms.lost_since),
         "a value overflowed: the step is useless",
         fmt::format("go back to a checkpoint from before step {}, and check the loss of the "
                     "steps before",
                     norms.lost_since),
         norms.lost_since, norms.lost_line});
    return;
  }
  if (!norms.above) return;
  // A spike that lasts is one alarm.
  if (norms.spike && !norms.spike->returned && !norms.spike->left && norms.spike->first <= *norms.above)
    return;
  std::string said =
      fmt::format("gradient norm {:.4g} at step {}, above {:.0f} times its lowest value {:.4g} (step {})",
                  *norms.last, norms.last_step, kNormRise, *norms.lowest, norms.lowest_step);
  if (*norms.above != norms.last_step) said += fmt::format(", since step {}", *norms.above);
  r.alarms.push_back({"gradient-norm", said, kDiverges, fmt::format(fmt::runtime(kGoBack), *norms.above),
                      *norms.above, norms.last_line});
}

/// True if each part of the run has longer steps than the one before it.
bool grows_steadily(const std::vector<double>& seconds) {
  double before = 0;
  for (std::size_t part = 0; part < kSteadyParts; ++part) {
    const auto at = [&](std::size_t i) {
      return seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() * i / kSteadyParts);
    };
    const double middle = median({at(part), at(part + 1)});
    if (middle <= before * (1 + kDrift / kSteadyParts)) return false;
    before = middle;
  }
  return true;
}

void tell_pauses(const RegularPauses& p, io::WatchReport& r) {
  const double lost = p.seconds - p.usual;
  const bool saves = p.saving > kMostlySaved * lost;
  r.alarms.push_back(
      {"pauses",
       fmt::format("a step in {} takes {:.4g} s, the others {:.4g}: {} such pauses cost {:.1f} % of the time",
                   p.every, p.seconds, p.usual, p.pauses, 100 * p.share),
       p.saving > 0
           ? fmt::format("the log states {:.4g} s of saving a checkpoint in each", p.saving)
           : std::string("what the run does at such a distance: a checkpoint, an evaluation, a log, a "
                         "collection of garbage, or the loading of a file"),
       saves ? std::string(kSaveLess)
             : fmt::format("find what is set to {} steps, and do it less often or asynchronously", p.every),
       std::nullopt, 0});
}

}  // namespace

std::optional<RegularPauses> regular_pauses(const RunLog& log) {
  const std::vector<double> seconds = log.alike();
  const double share = log.share();
  if (seconds.empty()) return std::nullopt;
  RegularPauses found;
  found.usual = median(seconds);
  std::vector<double> long_ones, saving;
  std::map<std::int64_t, int> counts;
  double all = 0, lost = 0;
  for (const Stretch& s : log.stretches) {
    std::optional<std::int64_t> before;
    for (const StepTime& t : s.steps) {
      if (t.share != share) continue;
      const auto timed = static_cast<double>(std::min(t.steps, log.interval));
      all += t.seconds * timed;
      if (t.seconds <= kSlowStep * found.usual) continue;
      lost += (t.seconds - found.usual) * timed;
      long_ones.push_back(t.seconds);
      saving.push_back(t.saving);
      if (before) ++counts[t.step - *before];
      before = t.step;
    }
  }
  found.pauses = static_cast<int>(long_ones.size());
  if (found.pauses < kFewestPauses || counts.empty()) return std::nullopt;
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  found.every = most->first;
  if (found.every <= log.interval || most->second < kRegularShare * (found.pauses - 1)) return std::nullopt;
  found.seconds = median(std::move(long_ones));
  found.saving = median(std::move(saving));
  found.share = lost / all;
  return found.share < kWorthSaying ? std::nullopt : std::optional(found);
}

std::size_t recent_lines(const RunLog& log) {
  const std::int64_t lines = (kRecentSteps + log.interval - 1) / std::max<std::int64_t>(1, log.interval);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(lines, kFewestLines, kRecentSteps));
}

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

std::vector<double> first_of(const std::vector<double>& values, std::size_t count) {
  const std::size_t n = std::min(values.size(), count);
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)};
}

std::vector<double> last_of(const std::vector<double>& values, std::size_t count) {
  const std::size_t n = std::min(values.size(), count);
  return {values.end() - static_cast<std::ptrdiff_t>(n), values.end()};
}

std::vector<double> steady_recent(const std::vector<double>& recent, double level) {
  return recent.empty() ? recent : steady(recent, std::max(level, median(recent)));
}

std::optional<std::pair<double, double>> two_paces(const std::vector<double>& seconds) {
  if (seconds.size() < 2 * std::size_t{kRecentSteps}) return std::nullopt;
  const auto quarters = [](std::vector<double> part) {
    std::sort(part.begin(), part.end());
    return std::pair{part[part.size() / 4], part[part.size() - 1 - part.size() / 4]};
  };
  const auto halves = std::pair{first_of(seconds, seconds.size() / 2), last_of(seconds, seconds.size() / 2)};
  for (const auto& half : {halves.first, halves.second}) {
    const auto [quick, slow] = quarters(half);
    if (!(slow > logs::kUneven * quick)) return std::nullopt;
  }
  const double change = mean_of(halves.second) / mean_of(halves.first);
  if (std::max(change, 1 / change) > logs::kUneven) return std::nullopt;  // a drift
  return quarters(seconds);
}

void look_for_drift(const RunLog& log, const RunSetting& setting, io::WatchReport& r) {
  const std::vector<double> seconds = log.alike();
  const std::size_t lines = recent_lines(log);
  if (const auto paces = two_paces(log.pace().seconds)) {
    r.alarms.push_back(
        {"straggler",
         fmt::format(
             "the steps have no common pace: a quarter takes at most {:.4g} s, a quarter at least {:.4g} s, "
             "from first to last; the step is their mean",
             paces->first, paces->second),
         "something slows a part of the steps: loading of data, evaluation, other jobs, or a node that is "
         "slow at times",
         fmt::format("look at what the run does at the slow steps; compare {} on the nodes",
                     setting.words().monitor),
         std::nullopt, 0});
    return;
  }
  const auto pauses = regular_pauses(log);
  if (pauses) tell_pauses(*pauses, r);
  if (seconds.size() < 2 * lines) return;
  const double first = median(first_of(seconds, lines));
  // A restart may change the speed: the steps since are compared with each other too.
  const std::vector<double> pace = log.pace().seconds;
  const bool restarted = pace.size() < seconds.size();
  const double level = restarted ? median(first_of(pace, lines)) : first;
  const std::vector<double> recent = last_of(pace, lines);
  const std::vector<double> even = steady_recent(recent, level), looked = last_of(pace, kRecentSteps);
  const auto slow = static_cast<int>(looked.size() - steady_recent(looked, level).size());
  const bool grows = pace.size() >= 2 * lines && grows_steadily(pace);
  const std::int64_t shown = static_cast<std::int64_t>(recent.size()) * log.interval;
  const std::string compare = fmt::format("compare {} on the nodes", setting.words().monitor);
  if (slow >= kSlowSteps && !grows) {
    r.alarms.push_back(
        {"straggler",
         fmt::format("{} of the last {} {} took more than {:.0f} % longer than the first{}", slow,
                     looked.size(), log.interval == 1 ? "steps" : "means over several steps",
                     (kSlowStep - 1) * 100, restarted ? " since the restart" : fmt::format(" {}", lines)),
         "something slows single steps: loading of data, a checkpoint, an evaluation, or a node that is slow "
         "at times",
         "look at what the run does at these steps; " + compare + ", and take a slow one out", std::nullopt,
         0});
  }
  const double last = mean_of(grows ? recent : even), change = last / first - 1;
  if (std::abs(change) <= kDrift) return;
  const std::string said = fmt::format("the last {} steps took {:.4g} s, the first {} took {:.4g}: {:+.1f} %",
                                       shown, last, shown, first, change * 100);
  if (grows) {
    r.alarms.push_back(
        {"drift", "the steps become longer and longer: " + said,
         "something grows or fills up: memory, caches, the queue of the data loader; or the machine is "
         "slowed by heat",
         compare + " and over time, and time the loading of a batch; a restart shows whether it "
                   "begins anew",
         std::nullopt, 0});
    return;
  }
  if (restarted && std::abs(last / level - 1) <= kDrift) {
    r.alarms.push_back(
        {"drift", said, "the run was started again in between: with other settings, or on other nodes",
         change > 0 ? "compare its settings and nodes with those before the restart; " + compare
                    : "nothing to fix: the time left is by the steps since the restart",
         std::nullopt, 0});
    return;
  }
  r.alarms.push_back(
      {"drift", said,
       change > 0 ? "the machine, its storage or the loading of data became slower"
                  : "the first steps were slowed by something that is over: a busy file system, other jobs",
       change > 0 ? compare + ", and time the loading of a batch"
                  : "nothing to fix: --calibrate learns from it",
       std::nullopt, 0});
}

void look_at_learning(const RunLog& log, io::WatchReport& r) {
  if (log.loss_lost) {
    io::WatchAlarm lost{"loss", "the loss is NaN", kNotFiniteCause, kNotFiniteFix, std::nullopt, 0, true};
    if (const CurveReading& c = log.losses; c.lost) {
      lost.message += fmt::format(" from step {} on", c.lost_since);
      lost.step = c.lost_since;
      lost.line = c.lost_line;
      if (c.last) lost.message += fmt::format(", after {:.4g} at step {}", *c.last, c.last_step);
    }
    lost.message += ": the run has failed";
    r.alarms.push_back(std::move(lost));
  } else if (log.nan.count > 0) {
    r.alarms.push_back({"loss",
                        fmt::format("{} had a loss that is NaN, the first near step {}",
                                    counted(log.nan.count, "step"), log.nan.first),
                        kNotFiniteCause, "it is over; if it comes again, lower the learning rate",
                        log.nan.first, log.nan.line});
  }
  if (log.skipped.count >= (log.always_skipped ? kSkippedAtStart : kSkippedSteps)) {
    r.alarms.push_back(
        {"skipped-steps",
         fmt::format("the last {} changed no weight, from step {} on: the run learns nothing",
                     counted(log.skipped.count, "step"), log.skipped.first),
         "the gradients are not finite, whatever the loss scale: the run diverged, or fp16 is too narrow",
         "go back to a checkpoint from before, and lower the learning rate; or train in bf16",
         log.skipped.first, log.skipped.line, true});
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

void look_for_pause(const RunLog& log, io::WatchReport& r) {
  const std::vector<double> seconds = log.seconds();
  if (seconds.empty() || !r.wall_seconds) return;
  const double usual = median(seconds);
  Pause longest;
  if (log.pause) longest = *log.pause;
  for (const Stretch& s : log.stretches) {
    int since = s.first_line;
    for (const StepTime& t : s.steps) {
      const int before = std::exchange(since, t.line);
      // Steps that the log leaves out were not timed.
      const auto timed = t.share * static_cast<double>(std::min(t.steps, log.interval));
      const double passed = t.seconds * timed, expected = usual * timed;
      if (t.seconds > kSlowStep * usual && passed - expected > longest.passed - longest.stated)
        longest = {t.step - t.steps, t.step, passed, expected, before, t.line};
    }
  }
  const double lost = longest.passed - longest.stated;
  if (lost <= std::max(kSilentSeconds, kSilentSteps * usual)) return;
  if (lost < kPauseSeconds && lost < kPauseShare * *r.wall_seconds) return;
  const std::int64_t steps = longest.before - longest.after;
  const double saved = log.saved_in(longest);
  r.alarms.push_back(
      {"pause",
       fmt::format("{} took {:.4g} s, where {:.4g} s are usual",
                   steps == 1 ? fmt::format("step {}", longest.before)
                              : fmt::format("steps {} to {}", longest.after + 1, longest.before),
                   longest.passed, longest.stated),
       saved > 0 ? fmt::format("the log states {:.4g} s of saving a checkpoint in between", saved)
                 : "a checkpoint or a validation, slow storage, or a rank that hung and came back",
       saved > kMostlySaved * lost
           ? std::string(kSaveLess)
           : fmt::format("look at what the log says before line {}, and at the nodes' logs of that time",
                         longest.line),
       longest.before, longest.line});
}

void look_for_slow_part(const RunLog& log, io::WatchReport& r) {
  for (const char* said : {"straggler", "drift", "pauses", "pause"})
    if (io::has_alarm(r, said)) return;
  if (!r.wall_seconds || !(*r.wall_seconds > 0)) return;
  logs::StepSample range;
  set_range(log.alike(), range);
  if (!logs::is_uneven(range.low, range.high)) return;
  const double usual = median(log.alike()), share = log.share();
  std::int64_t slow = 0, first = 0, last = 0;
  int line = 0;
  double lost = 0;
  for (const Stretch& s : log.stretches) {
    for (const StepTime& t : s.steps) {
      if (t.share != share || t.seconds <= kSlowStep * usual) continue;
      const std::int64_t timed = std::min(t.steps, log.interval);
      if (slow == 0) first = t.step - timed + 1;
      if (slow == 0) line = t.line;
      slow += timed;
      last = t.step;
      lost += share * (t.seconds - usual) * static_cast<double>(timed);
    }
  }
  if (lost <= kWorthSaying * *r.wall_seconds) return;
  r.alarms.push_back(
      {"straggler",
       fmt::format("{}: {}; {} slow ones from step {} to {} cost {:.1f} % of the time", logs::kNoCommonPace,
                   logs::range_words(static_cast<int>(log.timed_steps()), range.low, range.high), slow, first,
                   last, 100 * lost / *r.wall_seconds),
       "something slowed a part of the steps: loading of data, other jobs, heat, or a node that was slow for "
       "a time",
       fmt::format("look at what the nodes did from step {} to {}; most of the last steps are quick again",
                   first, last),
       first, line});
}

std::optional<double> most_silence(const std::vector<double>& seconds) {
  if (seconds.empty()) return std::nullopt;
  return std::max({kSilentSeconds, kSilentSteps * median(seconds),
                   kSilentPauses * *std::max_element(seconds.begin(), seconds.end())});
}

void look_for_silence(double silent, const std::vector<double>& seconds, const RunSetting& setting,
                      io::WatchReport& r) {
  const auto most = most_silence(seconds);
  if (!most || r.finished || silent <= *most) return;
  r.alarms.push_back(
      {"stalled", fmt::format("no step for {:.0f} s; steps took {:.4g} s before", silent, median(seconds)),
       "a node hangs, a collective waits for a rank that has died, or a checkpoint is written slowly",
       fmt::format(
           "look for the first rank that stopped ({}), and take its node out; the job goes on from the "
           "last checkpoint",
           setting.words().idle),
       r.step, 0});
}

}  // namespace trnplan::launch
