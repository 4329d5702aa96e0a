#include "models/step/pipeline_time.h"
#include "units/index.h"

#include <algorithm>
#include <optional>

namespace trnplan::models {

SimTime per_micro_batch(const StepCosts& c, int i, bool blocking) {
  SimTime t = c.stages[at(i)].each;
  if (!blocking) return t;
  if (i > 0) t += c.boundaries[at(i - 1)].activation + c.boundaries[at(i - 1)].gradient;
  if (i + 1 < static_cast<int>(c.stages.size()))
    t += c.boundaries[at(i)].activation + c.boundaries[at(i)].gradient;
  return t;
}

SimTime longest_tail(const StepCosts& c) {
  SimTime tail;
  for (const StageCost& s : c.stages) tail = std::max(tail, s.tail);
  return tail;
}

SimTime step_bound(const StepCosts& c, bool blocking, bool drains) {
  SimTime most, before, drain;
  const int count = static_cast<int>(c.stages.size());
  for (int i = 0; i < count; ++i) {
    const StageCost& stage = c.stages[at(i)];
    before = std::max(before, stage.ready) + stage.waits;
    most = std::max(most, before + per_micro_batch(c, i, blocking) * c.micro_batches +
                              std::max({stage.reduce, stage.backlog, drains ? drain : SimTime{}}));
    before += stage.up;
    drain = std::max(drain, stage.reduce) + stage.down;
    if (i > 0) {  // the message above is on the next stage's own queue
      before += c.boundaries[at(i - 1)].activation;
      drain += c.boundaries[at(i - 1)].gradient;
    }
  }
  return most + c.barrier + longest_tail(c);
}

namespace {

/// 1F1B as a recurrence over its rounds. With w_i = min(P-1-i, m) warm-up forwards of stage i, its round k is
/// the forward of micro-batch w_i + k, where there is one, and the backward of k. Between the two it meets
/// the stage above: the gradient of k comes down, then the forward's activation goes up. In the stage above
/// that lies between its backward of k and its next round. So a boundary has one meeting a round, and with
///
///   x_i(k) when stage i could meet the stage above: its forward has ended
///   y_i(k) when its backward of k has ended
///   meet_i(k) = max(x_i(k), y_{i+1}(k)) + gradient_i + activation_i
///   y_i(k) = meet_i(k) + down_i                 last stage: x_i(k) + down_i
///   x_{i+1}(k+1) = meet_i(k) + up_{i+1}         first stage: y_0(k) + up_0
///
/// a round follows from the x of its stages alone. When all x advance by the same amount from one round to
/// the next, they do so in every later round in which all stages still have a forward.
class Pipeline {
 public:
  explicit Pipeline(const StepCosts& c)
      : c_(c), count_(static_cast<int>(c.stages.size())), m_(c.micro_batches), x_(at(count_)), next_(x_) {
    quick_ = m_ >= count_ && stays_in_range();
    if (quick_) take_ticks();
  }

  /// Computes the end of the last stage's reduction; or, once that is known to be `limit` or later, some time
  /// between the two.
  SimTime reduced(SimTime limit) {
    if (limit < kNever) find_drains();
    if (quick_) {
      const SimTime least = quick_warm_up(limit);
      if (least >= limit) return least;
    } else {
      warm_up();
      const SimTime least = limit < kNever ? least_from(0, x_) : SimTime{};
      if (least >= limit) return least;
    }
    int k = 0;
    for (; k + 1 < m_; ++k) {
      any_round(k);
      const bool power = (k & (k + 1)) == 0;  // the check costs as much as a round
      if (power && limit < kNever) {
        const SimTime least = least_from(k + 1, next_);
        if (least >= limit) return least;
      }
      if (const auto each = shift(k)) {
        const int rounds = m_ - 1 - forwards(0) - (k + 1);  // until the first stage has no forward left
        for (SimTime& x : next_) x += *each * rounds;
        k += rounds;
      }
      x_.swap(next_);
    }
    any_round(k);
    SimTime last;
    for (int i = 0; i < count_; ++i) last = std::max(last, next_[at(i)] + c_.stages[at(i)].reduce);
    return last;
  }

 private:
  int forwards(int stage) const { return std::min(count_ - 1 - stage, m_); }
  bool goes_forward(int stage, int k) const { return forwards(stage) + k < m_; }

  /// True if no sum can leave the range of the clock: all that is ever added to a time is less.
  bool stays_in_range() const {
    constexpr double kRange = 9e18;
    double all = 0;
    for (const StageCost& s : c_.stages) {
      const SimTime smallest = std::min({s.up, s.down, s.reduce, s.ready, s.waits});
      if (smallest.ps < 0) return false;
      for (const SimTime t : {s.up, s.down, s.reduce, s.ready, s.waits}) all += static_cast<double>(t.ps);
    }
    for (const BoundaryCost& b : c_.boundaries) {
      if (std::min(b.activation, b.gradient).ps < 0) return false;
      all += static_cast<double>(b.activation.ps) + static_cast<double>(b.gradient.ps);
    }
    return all * (m_ + count_) < kRange;
  }

  void take_ticks() {
    for (int s = 0; s + 1 < count_; ++s) {
      const BoundaryCost& b = c_.boundaries[at(s)];
      ticks_.push_back(
          {b.gradient.ps, b.activation.ps, c_.stages[at(s)].down.ps, c_.stages[at(s + 1)].up.ps});
    }
  }

  /// round() where no sum leaves the range. Requires: a micro-batch for each stage. Then the messages of a boundary and
  /// the stage above it go forward in the same rounds: those of the upper stages for longer.
  void quick_round(int k) {
    const std::size_t lowest = at(std::max(0, count_ + k - m_));  // of the boundaries with a forward
    std::int64_t y = x_.back().ps + c_.stages.back().down.ps;
    std::size_t s = ticks_.size();
    while (s > lowest) {
      --s;
      const Ticks& t = ticks_[s];
      const std::int64_t met = std::max(x_[s].ps, y) + t.gradient + t.activation;
      next_[s + 1].ps = met + t.up;
      y = met + t.down;
    }
    while (s > 0) {
      --s;
      const std::int64_t met = std::max(x_[s].ps, y) + ticks_[s].gradient;
      next_[s + 1].ps = met;
      y = met + ticks_[s].down;
    }
    next_[0].ps = y + (goes_forward(0, k + 1) ? c_.stages[0].up.ps : 0);
  }

  void any_round(int k) { quick_ ? quick_round(k) : round(k); }

  /// The time from the last message of a stage to the boundary below until the last reduction has ended, at least: the
  /// gradient goes down, and each stage reduces its own.
  void find_drains() {
    SimTime drain;
    for (int s = 0; s < count_; ++s) {
      const StageCost& stage = c_.stages[at(s)];
      drain = std::max(drain, stage.reduce);
      drains_.push_back(drain);
      drain += stage.down;
      if (s > 0) drain += c_.boundaries[at(s - 1)].gradient;
    }
  }

  /// Sets the x of round 0. A stage takes an activation when it has sent the previous one.
  void warm_up() {
    std::vector<SimTime> sent(at(count_));  // by a stage, its last activation
    for (int i = 0; i < m_ && i < count_; ++i) {
      SimTime came = sent[0];
      for (int s = 0; s < count_; ++s) {
        const StageCost& stage = c_.stages[at(s)];
        if (i == 0) came = std::max(came, stage.ready) + stage.waits;
        const SimTime done = came + stage.up;
        if (i == forwards(s)) x_[at(s)] = done;
        if (i >= forwards(s)) break;
        const SimTime ready = sent[at(s + 1)];
        sent[at(s)] = came = std::max(done, ready) + c_.boundaries[at(s)].activation;
      }
    }
    for (int s = 0; s < count_; ++s) {
      if (forwards(s) == m_) x_[at(s)] = sent[at(s)];
    }
  }

  /// warm_up() where no sum leaves the range and there is a micro-batch for each stage. Stops at a stage for which
  /// least_of() is `limit` or more; returns the largest that it has seen, zero without a limit.
  SimTime quick_warm_up(SimTime limit) {
    std::vector<std::int64_t> sent(at(count_), 0);
    SimTime most;
    for (int i = 0; i < count_; ++i) {
      const std::size_t last = at(count_ - 1 - i);
      std::int64_t came = sent[0];
      for (std::size_t s = 0; s < last; ++s) {
        const StageCost& stage = c_.stages[s];
        if (i == 0) came = std::max(came, stage.ready.ps) + stage.waits.ps;
        sent[s] = came = std::max(came + stage.up.ps, sent[s + 1]) + ticks_[s].activation;
      }
      const StageCost& stage = c_.stages[last];
      if (i == 0) came = std::max(came, stage.ready.ps) + stage.waits.ps;
      x_[last] = SimTime{came + stage.up.ps};
      if (limit == kNever) continue;
      most = std::max(most, least_of(static_cast<int>(last), 0, x_[last]));
      if (most >= limit) return most;
    }
    return most;
  }

  /// Computes the `next_` round from `x_` of round k; in the last round, the end of each stage.
  void round(int k) {
    SimTime y;
    for (int s = count_ - 1; s >= 0; --s) {
      SimTime start = x_[at(s)];
      if (s + 1 < count_) {
        const BoundaryCost& b = c_.boundaries[at(s)];
        start = std::max(start, y) + b.gradient;
        if (goes_forward(s, k)) start += b.activation;
        next_[at(s + 1)] = start;
        if (goes_forward(s + 1, k + 1)) next_[at(s + 1)] += c_.stages[at(s + 1)].up;
      }
      y = start + c_.stages[at(s)].down;
    }
    next_[0] = y;
    if (goes_forward(0, k + 1)) next_[0] += c_.stages[0].up;
  }

  /// A time before which the last reduction cannot end, from the `x` of round k: each stage still has its passes
  /// and messages of the rounds that are left, one after the other, and then the way down.
  SimTime least_from(int k, const std::vector<SimTime>& x) const {
    SimTime most;
    for (int s = 0; s < count_; ++s) most = std::max(most, least_of(s, k, x[at(s)]));
    return most;
  }

  /// Such a time by the `x` of one stage.
  SimTime least_of(int s, int k, SimTime x) const {
    const int rounds = m_ - k;
    const auto messages = [&](int boundary) {
      const BoundaryCost& b = c_.boundaries[at(boundary)];
      return b.gradient * rounds + b.activation * std::max(0, rounds - forwards(boundary));
    };
    const StageCost& stage = c_.stages[at(s)];
    SimTime left = stage.down * rounds + stage.up * std::max(0, rounds - 1 - forwards(s)) + drains_[at(s)];
    if (s > 0) left += messages(s - 1);
    if (s + 1 < count_) left += messages(s);
    return x + left;
  }

  /// The time by which all stages have advanced in round k, if it is equal for all and all have a forward.
  std::optional<SimTime> shift(int k) const {
    if (!goes_forward(0, k + 1)) return std::nullopt;
    const SimTime each = next_[0] - x_[0];
    for (int s = 1; s < count_; ++s) {
      if (next_[at(s)] - x_[at(s)] != each) return std::nullopt;
    }
    return each;
  }

  const StepCosts& c_;
  int count_, m_;
  std::vector<SimTime> x_, next_;
  /// Of a boundary: its messages; the backward below it, the forward above it.
  struct Ticks {
    std::int64_t gradient, activation, down, up;
  };
  std::vector<Ticks> ticks_;     ///< by boundary
  std::vector<SimTime> drains_;  ///< by stage; only with a limit
  bool quick_ = false;
};

}  // namespace

SimTime pipeline_time(const StepCosts& c, SimTime limit) {
  const SimTime end = c.barrier + longest_tail(c);
  return Pipeline(c).reduced(limit < kNever ? limit - end : limit) + end;
}

}  // namespace trnplan::models
