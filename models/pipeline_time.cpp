#include "models/pipeline_time.h"

#include <algorithm>
#include <optional>

#include "models/schedule.h"

namespace trnplan::models {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

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
    most = std::max(most, before + per_micro_batch(c, i, blocking) * c.micro_batches +
                              std::max(stage.reduce, drains ? drain : SimTime{}));
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

/// 1F1B of `m` micro-batches.
class Pipeline {
 public:
  Pipeline(const StepCosts& c, int m) : c_(c), count_(static_cast<int>(c.stages.size())), m_(m) {
    for (int s = 0; s < count_; ++s) actions_.push_back(one_f_one_b(s, count_, m));
    next_.assign(at(count_), 0);
    now_.assign(at(count_), SimTime{});
    ended_.assign(at(count_ * m) * 2, SimTime{});
    for (bool progress = true; progress;) {
      progress = false;
      for (int s = 0; s < count_; ++s) progress |= run(s);
    }
  }

  SimTime reduced() const {
    SimTime last;
    for (int s = 0; s < count_; ++s) last = std::max(last, now_[at(s)] + c_.stages[at(s)].reduce);
    return last;
  }

  /// What every further micro-batch adds, when that is settled: when through some rounds in a row, while all
  /// stages go forward and backward in turn, everything ends the same time later. What a stage does in a
  /// round depends on nothing but rounds before it by two at most, and always in the same way, so it then
  /// stays so.
  std::optional<SimTime> period() const {
    constexpr int kRounds = 5;
    const int last = m_ - count_;  // the first stage's last round with a forward pass
    if (last - kRounds < 0) return std::nullopt;
    const SimTime each = ended(0, true, last) - ended(0, true, last - 1);
    for (int s = 0; s < count_; ++s) {
      const int ahead = count_ - 1 - s;
      for (int round = last; round > last - kRounds; --round) {
        if (ended(s, true, round) - ended(s, true, round - 1) != each) return std::nullopt;
        if (ended(s, false, round + ahead) - ended(s, false, round + ahead - 1) != each) return std::nullopt;
      }
    }
    return each;
  }

 private:
  using Kind = StageAction::Kind;

  std::size_t place(int stage, bool backward, int micro_batch) const {
    return (at(stage) * at(m_) + at(micro_batch)) * 2 + (backward ? 1 : 0);
  }
  SimTime ended(int stage, bool backward, int micro_batch) const {
    return ended_[place(stage, backward, micro_batch)];
  }

  /// As far as the stage can go.
  bool run(int s) {
    bool progress = false;
    for (; next_[at(s)] < actions_[at(s)].size(); progress = true) {
      const StageAction a = actions_[at(s)][next_[at(s)]];
      if (a.kind == Kind::forward || a.kind == Kind::backward) {
        const bool backward = a.kind == Kind::backward;
        now_[at(s)] += backward ? c_.stages[at(s)].down : c_.stages[at(s)].up;
        ended_[place(s, backward, a.micro_batch)] = now_[at(s)];
        ++next_[at(s)];
      } else if (a.kind == Kind::activation_up && meets(s + 1, {Kind::activation_down, a.micro_batch})) {
        pass(s, c_.boundaries[at(s)].activation);
      } else if (a.kind == Kind::gradient_up && meets(s + 1, {Kind::gradient_down, a.micro_batch})) {
        pass(s, c_.boundaries[at(s)].gradient);
      } else {
        break;  // the neighbour is not there yet, or will let us pass
      }
    }
    return progress;
  }

  bool meets(int stage, StageAction with) const {
    return next_[at(stage)] < actions_[at(stage)].size() && actions_[at(stage)][next_[at(stage)]] == with;
  }
  void pass(int below, SimTime length) {
    now_[at(below)] = now_[at(below + 1)] = std::max(now_[at(below)], now_[at(below + 1)]) + length;
    ++next_[at(below)];
    ++next_[at(below + 1)];
  }

  const StepCosts& c_;
  int count_, m_;
  std::vector<std::vector<StageAction>> actions_;
  std::vector<std::size_t> next_;
  std::vector<SimTime> now_, ended_;
};

}  // namespace

SimTime pipeline_time(const StepCosts& c) {
  const int stages = static_cast<int>(c.stages.size());
  const SimTime end = c.barrier + longest_tail(c);
  for (int few = 3 * stages + 8; 2 * few < c.micro_batches; few *= 2) {
    const Pipeline start(c, few);
    if (const auto each = start.period()) return start.reduced() + *each * (c.micro_batches - few) + end;
  }
  return Pipeline(c, c.micro_batches).reduced() + end;
}

}  // namespace trnplan::models
