#include "planner/cluster/progress.h"

#include <algorithm>
#include <cmath>

namespace trnplan::planner {

double Progress::stop() const {
  return std::min(resumed_ + times_.every_steps, steps_);
}

/// Time until the steps up to stop() are computed.
Seconds Progress::computed(Seconds step) const {
  return (stop() - done_) * step;
}

/// Time until the checkpoint at stop() has stalled training. Requires: not last().
Seconds Progress::saved(Seconds step) const {
  if (saving_.value >= 0) return saving_;
  return std::max(computed(step), pending_) + times_.stall;
}

Seconds Progress::period(Seconds step) const {
  return std::max(times_.every_steps * step, times_.unsafe) + times_.stall;
}

/// Checkpoints in so many last steps.
double Progress::saves_after(double steps) const {
  return std::max(0.0, std::ceil(steps / times_.every_steps) - 1);
}

Seconds Progress::remaining(Seconds step) const {
  if (last()) return computed(step);
  const double rest = steps_ - stop(), saves = saves_after(rest);
  return saved(step) + saves * period(step) + (rest - saves * times_.every_steps) * step;
}

void Progress::settle(Seconds time) {
  if (pending_.value < 0) return;
  pending_ -= time;
  if (pending_.value > 0) return;
  pending_ = Seconds(-1);
  safe_ = resumed_;
}

/// advance() by a time that ends before saved().
void Progress::within(Seconds time, Seconds step) {
  if (saving_.value >= 0) {
    saving_ -= time;
    return;
  }
  if (last() || time < computed(step)) {
    done_ = std::min(done_ + time / step, stop());
  } else {
    if (time >= pending_) saving_ = std::max(saved(step) - time, Seconds{});
    done_ = stop();
  }
  settle(time);
}

void Progress::advance(Seconds time, Seconds step) {
  while (!last()) {
    const Seconds first = saved(step);
    if (time < first) break;
    time -= first;
    settle(first);
    done_ = resumed_ = stop();
    saving_ = Seconds(-1);
    const Seconds each = period(step);
    const double whole = std::min(saves_after(steps_ - done_), std::floor(time / each));
    if (whole > 0) {  // all but the last of these checkpoints are safe
      done_ += whole * times_.every_steps;
      resumed_ = done_;
      safe_ = done_ - times_.every_steps;
      time = std::max(time - whole * each, Seconds{});
    }
    pending_ = times_.unsafe;
    settle(Seconds{});
  }
  within(time, step);
}

void Progress::lose() {
  done_ = resumed_ = safe_;
  saving_ = pending_ = Seconds(-1);
}

}  // namespace trnplan::planner
