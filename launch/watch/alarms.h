// What is not as it should be in a run that goes on, each with its cause and what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/output/watch_json.h"
#include "launch/watch/run_log.h"

namespace trnplan::launch {

/// Steps of the running mean.
inline constexpr int kRecentSteps = 20;
/// Alarm when the running mean leaves the run's first 20 steps by more: above the 1-2 % by which throughput
/// swings over a day (Llama 3 paper, arXiv 2407.21783), below the 10 % that one slow host costs (MegaScale,
/// arXiv 2402.15627).
inline constexpr double kDrift = 0.05;
/// A step so much longer than the median is a pause or a straggler.
inline constexpr double kSlowStep = 1.25;
/// So many slow ones among the last 20 are no checkpoints.
inline constexpr int kSlowSteps = 3;
/// A run says nothing when the next step takes so many medians, and so many times the longest step before it,
/// which may have held a checkpoint, and at least so many seconds. All three are ours.
inline constexpr double kSilentSteps = 5, kSilentPauses = 1.5, kSilentSeconds = 60;

/// "drift" of the last 20 steps from the first, "straggler": several slow ones among them.
void look_for_drift(const std::vector<double>& seconds, io::WatchReport& r);

/// By the rules of launch/watch/learning_curve.h: "gradient-norm", "gradient-spike", "loss-spike"; "loss" where it
/// is no number.
void look_at_learning(const RunLog& log, io::WatchReport& r);

/// "missing-steps": a log that states every step, or every tenth, lacks some.
void look_for_gaps(const RunLog& log, io::WatchReport& r);

/// "stalled": `silent` are the seconds since a step was written, of a run that goes on.
void look_for_silence(double silent, const std::vector<double>& seconds, io::WatchReport& r);

/// Seconds of silence from which look_for_silence() gives an alarm; nullopt when no step is timed.
[[nodiscard]] std::optional<double> most_silence(const std::vector<double>& seconds);

/// Requires: not empty.
[[nodiscard]] double mean_of(const std::vector<double>& values);
/// Those that are no pause.
[[nodiscard]] std::vector<double> steady(const std::vector<double>& values, double typical);
[[nodiscard]] std::vector<double> last_of(const std::vector<double>& values, int count);

}  // namespace trnplan::launch
