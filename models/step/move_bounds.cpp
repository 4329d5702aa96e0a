#include "models/step/move_bounds.h"

#include <algorithm>
#include <cmath>

#include "units/index.h"

namespace trnplan::models {

namespace {

/// Sums below it have room for Above::kNothing.
constexpr double kRange = 1e18;

}  // namespace

void MoveBounds::Below::add(const Stage& s) {
  const std::int64_t start = std::max(before + s.waits, s.ready);
  most = std::max(most, start + s.passes + std::max(drain, s.end));
  before = start + s.up;
  drain = std::max(drain + s.down, s.reduced);
  tail = std::max(tail, s.tail);
}

MoveBounds::Above MoveBounds::Above::and_below(const Stage& s) const {
  const std::int64_t up = s.waits + s.up, late = s.ready + s.up;
  const std::int64_t own = s.passes + s.end;
  return {std::max(s.waits + own, up + std::max(with_before, s.reduced + with_both)),
          std::max(s.waits + s.passes, up + s.down + with_both),
          std::max(s.ready + s.passes, s.down + std::max(late + with_both, with_drain)),
          std::max({s.ready + own, late + std::max(with_before, s.reduced + with_both),
                    s.reduced + with_drain, with_none}),
          std::max(tail, s.tail)};
}

std::int64_t MoveBounds::Above::most(const Below& b) const {
  return std::max({b.before + std::max(with_before, b.drain + with_both), b.drain + with_drain, with_none});
}

MoveBounds::MoveBounds(const StepCosts& costs)
    : costs_(costs),
      count_(static_cast<int>(costs.stages.size())),
      size_(std::abs(static_cast<double>(costs.barrier.ps))) {
  for (const BoundaryCost& b : costs.boundaries)
    size_ += 2.0 * (1 + costs.micro_batches) *
             (std::abs(static_cast<double>(b.activation.ps)) + std::abs(static_cast<double>(b.gradient.ps)));
  for (const StageCost& s : costs.stages) size_ += size(s);
  if (!(size_ < kRange)) return;
  for (int i = 0; i < count_; ++i) {
    messages_.push_back(per_micro_batch(costs, i, true) - costs.stages[at(i)].each);
    stages_.push_back(stage(i, costs.stages[at(i)]));
  }
  below_.resize(at(count_ + 1));
  above_.resize(at(count_ + 1));
  for (int i = 0; i < count_; ++i) {
    below_[at(i + 1)] = below_[at(i)];
    below_[at(i + 1)].add(stages_[at(i)]);
  }
  for (int i = count_ - 1; i >= 0; --i) above_[at(i)] = above_[at(i + 1)].and_below(stages_[at(i)]);
  new_below_ = below_;
  new_above_ = above_;
}

double MoveBounds::size(const StageCost& s) const {
  double all = std::abs(static_cast<double>(s.each.ps)) * costs_.micro_batches;
  for (const SimTime t : {s.up, s.down, s.reduce, s.tail, s.ready, s.waits, s.backlog})
    all += std::abs(static_cast<double>(t.ps));
  return all;
}

MoveBounds::Stage MoveBounds::stage(int i, const StageCost& c) const {
  const BoundaryCost message = i > 0 ? costs_.boundaries[at(i - 1)] : BoundaryCost{};
  const std::int64_t down = c.down.ps + message.gradient.ps;
  return {c.waits.ps,
          c.ready.ps + c.waits.ps,
          c.up.ps + message.activation.ps,
          down,
          c.reduce.ps + down,
          (c.each.ps + messages_[at(i)].ps) * costs_.micro_batches,
          std::max(c.reduce, c.backlog).ps,
          c.tail.ps};
}

void MoveBounds::take_from(int from, const StageCost& cost) {
  from_ = from;
  taken_ = cost;
  if (stages_.empty() || !(size_ + size(cost) < kRange)) return;
  const Stage own = stage(from, cost);
  for (int i = from; i < count_; ++i) {
    new_below_[at(i + 1)] = i == from ? below_[at(i)] : new_below_[at(i)];
    new_below_[at(i + 1)].add(i == from ? own : stages_[at(i)]);
  }
  for (int i = from; i >= 0; --i)
    new_above_[at(i)] =
        i == from ? above_[at(i + 1)].and_below(own) : new_above_[at(i + 1)].and_below(stages_[at(i)]);
}

SimTime MoveBounds::give_to(int to, const StageCost& cost) const {
  if (stages_.empty() || !(size_ + size(taken_) + size(cost) < kRange)) {
    StepCosts moved = costs_;
    moved.stages[at(from_)] = taken_;
    moved.stages[at(to)] = cost;
    return step_bound(moved, true, true);
  }
  Below below = to < from_ ? below_[at(to)] : new_below_[at(to)];
  below.add(stage(to, cost));
  const Above& above = to < from_ ? new_above_[at(to + 1)] : above_[at(to + 1)];
  return SimTime{std::max(below.most, above.most(below))} + costs_.barrier +
         SimTime{std::max(below.tail, above.tail)};
}

}  // namespace trnplan::models
