// Time of a run: that of steps that count, and the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "io/output/watch_json.h"
#include "launch/watch/run_log.h"

namespace trnplan::launch {

/// Steps that count: those that were done twice count once.
struct Progress {
  double seconds = 0;         ///< that they take, each the usual time of its stretch and batch
  double useless = 0;         ///< s of those that taught nothing and were not done again
  double missing = 0;         ///< whole steps that they are short of, as their batches were smaller
  std::int64_t lost = 0;      ///< steps that had to be repeated
  std::int64_t unlogged = 0;  ///< steps of the run before the log, of which it shows no time
};

/// `step`: s of a step where a stretch has too few. Cost: sorts the steps.
[[nodiscard]] Progress progress_of(const RunLog& log, double step);

/// Sum over stretches of the time on the clock, or the time to the next one, by starts that the log states or by the
/// dates of its lines, if that is longer.
[[nodiscard]] double wall_of(const std::vector<Stretch>& stretches);

/// Seconds of compiling and loading at the first start of the run, which is not repeated; 0 if not shown.
[[nodiscard]] double first_start(const RunLog& log, double step);

/// Seconds of the steps at their own pace, where that has changed: slow steps are then no losses. Else 0.
[[nodiscard]] double paced(const RunLog& log, const io::WatchReport& r);

}  // namespace trnplan::launch
