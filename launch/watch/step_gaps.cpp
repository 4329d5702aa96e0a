#include "launch/watch/step_gaps.h"

#include <algorithm>

namespace trnplan::launch {

namespace {

constexpr std::size_t kMostDifferences = 1000;

}  // namespace

void StepIntervals::add(std::int64_t from, std::int64_t to, int line) {
  const std::int64_t difference = to - from;
  if (difference <= 0 || (seen_.size() == kMostDifferences && !seen_.contains(difference))) return;
  Seen& seen = seen_[difference];
  if (seen.count++ > 0) return;
  seen.after = from;
  seen.line = line;
}

std::int64_t StepIntervals::usual() const {
  std::int64_t most = 0, interval = 1;
  for (const auto& [difference, seen] : seen_) {
    if (seen.count <= most) continue;
    most = seen.count;
    interval = difference;
  }
  return interval;
}

std::optional<StepGaps> StepIntervals::gaps() const {
  StepGaps found;
  found.interval = usual();
  std::int64_t all = 0;
  for (const auto& [difference, seen] : seen_) all += seen.count;
  const auto usual = seen_.find(found.interval);
  const std::int64_t most = usual == seen_.end() ? 0 : usual->second.count;
  if (all < kIntervalsLeast || static_cast<double>(most) < kIntervalsShare * static_cast<double>(all))
    return std::nullopt;
  for (const auto& [difference, seen] : seen_) {
    const std::int64_t lines = difference / found.interval - 1;
    if (lines < 1) continue;
    found.lines += static_cast<double>(lines) * static_cast<double>(seen.count);
    found.gaps += static_cast<int>(std::min<std::int64_t>(seen.count, 1'000'000));
    if (found.line != 0 && found.line < seen.line) continue;
    found.line = seen.line;
    found.after = seen.after;
    found.before = seen.after + difference;
  }
  return found.gaps > 0 ? std::optional(found) : std::nullopt;
}

}  // namespace trnplan::launch
