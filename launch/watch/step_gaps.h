// Steps missing between those of a log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace trnplan::launch {

struct StepGaps {
  std::int64_t interval = 1;  ///< steps from one line to the next
  double lines = 0;           ///< missing lines
  int gaps = 0;
  std::int64_t after = 0, before = 0;  ///< the steps around the first gap
  int line = 0;                        ///< after the first gap
};

/// Least number of lines, and least share of lines that follow each other at the log's interval. Below them,
/// the log is an excerpt or a bar with irregular output, and nothing is missing. Our own values.
inline constexpr std::int64_t kIntervalsLeast = 10;
inline constexpr double kIntervalsShare = 0.9;

/// Learns the log's interval from one step to the next. Holds a few numbers.
class StepIntervals {
 public:
  /// Requires: from < to, without a restart between them.
  void add(std::int64_t from, std::int64_t to, int line);
  /// Gaps so far; nullopt if there are none.
  [[nodiscard]] std::optional<StepGaps> gaps() const;
  /// The most frequent difference, the smallest of those; 1 without any.
  [[nodiscard]] std::int64_t usual() const;

 private:
  struct Seen {
    std::int64_t count = 0, after = 0;
    int line = 0;  ///< of the first
  };
  std::map<std::int64_t, Seen> seen_;  ///< by difference
};

}  // namespace trnplan::launch
