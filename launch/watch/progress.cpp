#include "launch/watch/progress.h"

#include <algorithm>
#include <limits>
#include <map>

#include "launch/watch/alarms.h"
#include "units/median.h"

namespace trnplan::launch {

namespace {

/// A log that begins in the middle of a run does not show the time before.
bool is_excerpt(const Stretch& first) {
  return first.first > 1 && !first.start;
}

/// Last step of the run before those that the log shows. An excerpt of a bar does not show the first step's own time.
std::int64_t before_log(const Stretch& start) {
  const bool unseen = start.first_untimed || (is_excerpt(start) && start.before_first > 0);
  return unseen ? start.first : start.first - 1;
}

/// Steps of a stretch behind `after`, by their share of a whole one. Those that are not timed are as the next that is.
std::map<double, std::int64_t> by_share(const Stretch& s, std::int64_t after) {
  std::map<double, std::int64_t> steps;
  double share = 1;
  for (const StepTime& t : s.steps) {
    share = t.share;
    if (t.step <= after) continue;
    steps[share] += t.step - after;
    after = t.step;
  }
  if (s.last > after) steps[share] += s.last - after;
  return steps;
}

/// Usual times of the steps of a stretch.
class Usual {
 public:
  Usual(const Stretch& s, double step) {
    std::map<double, std::vector<double>> own;
    std::vector<double> all;
    for (const StepTime& t : s.steps) {
      own[t.share].push_back(t.seconds);
      all.push_back(t.seconds);
    }
    of_all_ = all.size() < kEnough ? step : usual(std::move(all));
    for (auto& [share, seconds] : own)
      if (seconds.size() >= kEnough) own_[share] = usual(std::move(seconds));
  }
  /// Seconds of a step of that share of a whole one.
  [[nodiscard]] double operator()(double share) const {
    const auto own = own_.find(share);
    return share * (own == own_.end() ? of_all_ : own->second);
  }

 private:
  static constexpr auto kEnough = static_cast<std::size_t>(logs::kFewestSteps);
  static double usual(std::vector<double> seconds) {
    return two_paces(seconds) ? mean_of(seconds) : median(std::move(seconds));
  }
  double of_all_ = 0;
  std::map<double, double> own_;
};

}  // namespace

Progress progress_of(const RunLog& log, double step) {
  Progress p;
  if (log.stretches.empty()) return p;
  const Stretch& start = log.stretches.front();
  p.unlogged = is_excerpt(start) ? before_log(start) : start.began > log.interval ? start.began - 1 : 0;
  std::int64_t done = before_log(start), reached = 0;
  std::vector<Usual> usual;
  for (const Stretch& s : log.stretches) {
    usual.emplace_back(s, step);
    if (&s != &start && s.began <= reached) p.lost += reached - s.began + 1;
    reached = s.last;
    if (reached <= done) continue;
    for (const auto& [share, steps] : by_share(s, done)) {
      p.seconds += static_cast<double>(steps) * usual.back()(share);
      p.missing += static_cast<double>(steps) * (1 - share);
    }
    done = reached;
  }
  std::int64_t again = std::numeric_limits<std::int64_t>::max();  // from here on, steps were repeated
  for (std::size_t i = log.stretches.size(); i-- > 0;) {
    const Stretch& s = log.stretches[i];
    for (const StepTime& t : s.steps)
      if (t.step < again) p.useless += static_cast<double>(t.useless) * usual[i](t.share);
    again = std::min(again, s.began);
  }
  return p;
}

double wall_of(const std::vector<Stretch>& stretches) {
  double wall = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    double length = stretches[i].elapsed;
    if (i == 0 && is_excerpt(stretches[i])) length -= stretches[i].before_first;
    if (i + 1 < stretches.size()) {
      const Stretch &s = stretches[i], &next = stretches[i + 1];
      if (s.start && next.start) length = std::max(length, static_cast<double>(*next.start - *s.start));
      if (s.origin && next.origin) length = std::max(length, *next.origin - *s.origin);
    }
    wall += length;
  }
  return wall;
}

double first_start(const RunLog& log, double step) {
  const Stretch& first = log.stretches.front();
  const double share = first.steps.empty() ? 1 : first.steps.front().share;
  return is_excerpt(first) ? 0 : std::max(0.0, first.with_first - step * share);
}

double paced(const RunLog& log, const io::WatchReport& r) {
  if (!io::drifts(r)) return 0;
  const double most = kSlowStep * std::max(*r.step_seconds, *r.recent_seconds);
  double seconds = -static_cast<double>(r.lost_steps) * *r.step_seconds;
  for (const Stretch& s : log.stretches)
    for (const StepTime& t : s.steps)
      seconds += t.share * std::min(t.seconds, most) * static_cast<double>(std::min(t.steps, log.interval));
  return seconds;
}

}  // namespace trnplan::launch
