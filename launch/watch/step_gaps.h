// Steps that a log lacks between those it has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace trnplan::launch {

struct StepGaps {
  std::int64_t interval = 1;  ///< steps from one line to the next as the log is written
  double lines = 0;           ///< that are not there
  int gaps = 0;
  std::int64_t after = 0, before = 0;  ///< the steps around the first gap
  int line = 0;                        ///< behind it
};

/// Below so many lines, or a smaller share of them that follow each other at the log's interval, the log is
/// an excerpt, or a bar that is drawn when it likes: nothing is missing. Ours.
inline constexpr std::int64_t kIntervalsLeast = 10;
inline constexpr double kIntervalsShare = 0.9;

/// Learns from one step to the next how often the log is written. Holds a few numbers.
class StepIntervals {
 public:
  /// Requires: from < to, without a restart between them.
  void add(std::int64_t from, std::int64_t to, int line);
  /// nullopt when there is none.
  [[nodiscard]] std::optional<StepGaps> gaps() const;

 private:
  struct Seen {
    std::int64_t count = 0, after = 0;
    int line = 0;  ///< of the first
  };
  std::map<std::int64_t, Seen> seen_;  ///< by difference
};

}  // namespace trnplan::launch
