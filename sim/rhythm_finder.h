// Finds two instants of a run at which all is the same but the clock and the place. Internal to the executor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/executor.h"

namespace trnplan::sim {

/// Compares instants of a run, one a period, until two are alike.
class RhythmFinder {
 public:
  RhythmFinder(const Program& p, const Repeats& r)
      : repeats_(r), next_mark_(Run::kNone), ended_(r.period > 0 ? p.tasks().size() : 0) {
    for (TaskId t = r.first; t < r.beyond && r.period > 0; ++t) {
      if (p.tasks()[t].device_count == 0 || p.task_devices()[p.tasks()[t].first_device] != 0) continue;
      next_mark_ = t;  // each period's first task of one queue
      return;
    }
  }

  bool looks() const { return next_mark_ != Run::kNone; }
  void starts(TaskId t) {
    if (t != next_mark_) return;
    due_ = true;
    place_ = t;
    next_mark_ += repeats_.period;
  }
  void ends(TaskId t) {
    ended_[t] = true;
    above_ended_ = std::max(above_ended_, t + 1);
    while (lowest_open_ < ended_.size() && ended_[lowest_open_]) ++lowest_open_;
  }
  /// Notes a task that the run has looked at: with another task there it would be another run.
  void touches(TaskId t) { touched_ = std::max(touched_, t); }
  bool due() const { return due_; }

  /// An instant: `state` is what follows the place, made by `put` with tasks by their place.
  std::optional<Rhythm> compare(SimTime now, std::uint64_t events, std::vector<TaskId> under_way,
                                std::vector<std::int64_t> state) {
    due_ = false;
    if (touched_ >= repeats_.beyond) {  // from here on the program is another than a longer one
      next_mark_ = Run::kNone;
      return std::nullopt;
    }
    if (lowest_open_ < repeats_.first) return std::nullopt;
    put_ended(state);
    for (auto known = seen_.rbegin(); known != seen_.rend(); ++known) {
      if (known->state != state) continue;
      next_mark_ = Run::kNone;
      std::sort(known->under_way.begin(), known->under_way.end());
      std::sort(under_way.begin(), under_way.end());
      return Rhythm{place_ - known->place,       now - known->now,    now, events - known->events,
                    std::move(known->under_way), std::move(under_way)};
    }
    seen_.push_back({place_, now, events, std::move(under_way), std::move(state)});
    return std::nullopt;
  }
  std::int64_t relative(TaskId t) const { return static_cast<std::int64_t>(t) - place_; }

 private:
  /// Adds which tasks have ended: all below one place, none above another, some between.
  void put_ended(std::vector<std::int64_t>& state) const {
    state.push_back(relative(lowest_open_));
    state.push_back(relative(above_ended_));
    std::uint64_t bits = 0;
    int count = 0;
    for (TaskId t = lowest_open_; t < above_ended_; ++t) {
      bits = bits << 1 | (ended_[t] ? 1 : 0);
      if (++count % 64 == 0) state.push_back(static_cast<std::int64_t>(bits));
    }
    state.push_back(static_cast<std::int64_t>(bits));
  }

  struct Instant {
    TaskId place;
    SimTime now;
    std::uint64_t events;
    std::vector<TaskId> under_way;
    std::vector<std::int64_t> state;
  };
  const Repeats repeats_;
  TaskId next_mark_, place_ = 0;
  bool due_ = false;
  std::vector<bool> ended_;
  TaskId lowest_open_ = 0, above_ended_ = 0, touched_ = 0;
  std::vector<Instant> seen_;
};

}  // namespace trnplan::sim
