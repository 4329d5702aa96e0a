#include "launch/watch/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "units/median.h"

namespace trnplan::launch {

namespace {

double deviation(std::vector<double> values, double middle) {
  for (double& v : values) v = std::abs(v - middle);
  return kDeviationToSigma * median(std::move(values));
}

bool lasts(const Spike& s) {
  return s.last - s.first >= kFewSteps;
}

}  // namespace

void LearningCurve::add(std::int64_t step, double value, int line) {
  if (pending_ && step != pending_->step) settle();
  if (pending_ && step < pending_->step) {
    level_.clear();
    if (spike_ && lasts(*spike_)) told_.spike->left = true;
    spike_.reset();
    high_.clear();
    told_.above.reset();
  }
  pending_ = {step, value, line};
}

/// Counts a value that no later line can change.
void LearningCurve::settle() {
  const Value now = *pending_;
  const bool was_lost = std::exchange(told_.lost, !std::isfinite(now.value));
  if (told_.lost && !was_lost) {
    told_.lost_since = now.step;
    told_.lost_line = now.line;
  }
  if (told_.lost) return;
  keep(now);
  told_.last = now.value;
  told_.last_step = now.step;
  told_.last_line = now.line;
  if (now.value > 0 && (!told_.lowest || now.value < *told_.lowest)) {
    told_.lowest = now.value;
    told_.lowest_step = now.step;
  }
  const bool above = told_.lowest && now.value > kNormRise * *told_.lowest;
  if (!above) told_.above.reset();
  if (above && !told_.above) told_.above = now.step;

  if (level_.size() >= kLevelLeast) {
    const double level = median(level_);
    if (now.value > level + share_ * std::abs(level) && now.value > level + kNoise * deviation(level_, level))
      return rise(now, level);
  }
  if (spike_ && lasts(*spike_)) {
    told_.spike->returned = now.step;
  } else {
    level_.insert(level_.end(), high_.begin(), high_.end());
  }
  spike_.reset();
  high_.clear();
  level_.push_back(now.value);
  if (level_.size() > kLevelSteps) level_.erase(level_.begin(), level_.end() - kLevelSteps);
}

/// Keeps the value for drawing if it is its turn.
void LearningCurve::keep(const Value& now) {
  if (told_.seen++ % told_.every != 0) return;
  if (told_.points.size() == kCurvePoints) {
    for (std::size_t i = 0; 2 * i < kCurvePoints; ++i) told_.points[i] = told_.points[2 * i];
    told_.points.resize(kCurvePoints / 2);
    told_.every *= 2;
  }
  told_.points.push_back({now.step, now.value});
}

void LearningCurve::rise(const Value& now, double level) {
  if (!spike_) spike_ = Spike{now.step, now.line, level, now.value, now.step, std::nullopt, false};
  const bool lasted = lasts(*spike_);
  spike_->highest = std::max(spike_->highest, now.value);
  spike_->last = now.step;
  if (!lasts(*spike_)) return high_.push_back(now.value);
  told_.spikes += lasted ? 0 : 1;
  told_.spike = spike_;
  high_.clear();
}

CurveReading LearningCurve::now() const {
  if (!pending_) return told_;
  LearningCurve whole = *this;
  whole.settle();
  return whole.told_;
}

}  // namespace trnplan::launch
