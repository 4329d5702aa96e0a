// Steps of a run that are slower than they should be, and what their times show besides.
#pragma once

#include <optional>
#include <vector>

#include "io/input/plan_file.h"
#include "launch/watch/run_log.h"

namespace trnplan::launch {

/// Log-sd of a sound step against another hour's: throughput swings by 1-2 % over a day (Llama 3 paper, arXiv
/// 2407.21783).
inline constexpr double kUsualSwing = 0.02;
/// Fewest single steps whose spread is judged: our own value.
inline constexpr int kStepsForSpread = 10;

struct SlowSteps {
  double seconds = 0;   ///< of a slow step without `saving`: the median of all, or of the last ones
  double expected = 0;  ///< s of a step of this run if nothing were slow: predicted, or its own first steps
  double log_sd = 0;    ///< of `expected`
  bool later = false;   ///< the run was as fast as it should be at first
  /// Log-sd of single steps, by their median absolute deviation; absent with fewer than kStepsForSpread, and where
  /// most are equal to the one before: a clock of whole ticks, or means over several steps.
  std::optional<double> spread;
  int steps = 0;  ///< that `spread` is of
  double saving =
      0;  ///< s more that a slow step takes because checkpoints are saved in it, as the log states
  bool explained = false;  ///< without `saving` no step is slow
};

/// The slow steps of a run: its median is above the plan's 90 % interval, or its last steps drift away from first
/// ones that are not (launch/watch/alarms.h). nullopt for other runs. Cost: that of sorting the steps.
[[nodiscard]] std::optional<SlowSteps> slow_steps(const RunLog& log, const io::PlanFile& plan);

}  // namespace trnplan::launch
