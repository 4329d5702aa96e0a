// Alarms about a run in progress, each with its cause and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/output/watch_json.h"
#include "launch/watch/run_log.h"
#include "launch/watch/setting.h"

namespace trnplan::launch {

/// Steps of the running mean, and the fewest lines of a log by which it is judged. Our own values.
inline constexpr int kRecentSteps = 20, kFewestLines = 5;
/// Lines of the running mean: of so many steps, where a line covers several.
std::size_t recent_lines(const RunLog& log);
/// Alarm if the running mean leaves the run's first 20 steps by more than this: above the 1-2 % by which
/// throughput swings over a day (Llama 3 paper, arXiv 2407.21783), below the 10 % that one slow host costs
/// (MegaScale, arXiv 2402.15627).
inline constexpr double kDrift = 0.05;
/// A step longer than the median by this factor is a pause or a straggler.
inline constexpr double kSlowStep = 1.25;
/// This many slow steps among the last 20 are too many to be checkpoints.
inline constexpr int kSlowSteps = 3;
/// A run is silent if the next step takes this many medians, this many times the longest step before it,
/// which may have included a checkpoint, and at least this many seconds. All three are our own values.
inline constexpr double kSilentSteps = 5, kSilentPauses = 1.5, kSilentSeconds = 60;

/// Steps in a row that change no weight are too many: in the middle of a run, and at its start, where a loss scale of
/// 2^32 (Megatron-LM's, --initial-loss-scale) is halved until the gradients are finite. Our own values.
inline constexpr std::int64_t kSkippedSteps = 10, kSkippedAtStart = 40;
/// A pause is an alarm if it is as long as a silence that is one, and at least this many seconds (NCCL's usual time
/// limit) or this share of the run. Our own values.
inline constexpr double kPauseSeconds = 600, kPauseShare = 0.1;
/// Share of a step that is worth saying: between times of it, or for which it is slow. Our own value.
inline constexpr double kWorthSaying = 0.01;
/// A pause of which more than this share was spent on saving a checkpoint needs no other cause. Our own value.
inline constexpr double kMostlySaved = 0.5;
/// Advice where saving takes too long.
inline constexpr const char* kSaveLess = "save less often, asynchronously, or to faster storage";
/// Steps grow steadily if the medians of this many equal parts of the run do. Our own value.
inline constexpr std::size_t kSteadyParts = 5;

/// Quicker and slower steps of a run without a common pace: the most that a quarter of its steps takes, and the least
/// that another takes, if they are further apart than logs::kUneven in its first half as in its last. nullopt for fewer
/// than two kRecentSteps, and where the halves themselves are that far apart. Cost: sorts the steps.
[[nodiscard]] std::optional<std::pair<double, double>> two_paces(const std::vector<double>& seconds);

/// Pauses at one distance from each other, as those of checkpoints and evaluations are.
struct RegularPauses {
  std::int64_t every = 0;  ///< steps
  int pauses = 0;
  double seconds = 0, usual = 0;  ///< of such a step, the median, and of the others
  double share = 0;               ///< of the time of all steps that they cost beyond their usual time
  double saving = 0;  ///< s of a pause, the median, in which the log says that a checkpoint was saved
};
/// Pauses are regular if as many are, of which nine of ten are at one distance. Our own values.
inline constexpr int kFewestPauses = 4;
inline constexpr double kRegularShare = 0.9;
/// nullopt: there are none, or they cost less than kWorthSaying. Cost: that of sorting the steps.
[[nodiscard]] std::optional<RegularPauses> regular_pauses(const RunLog& log);

/// "pauses" that are regular; "drift" of the last 20 steps from the first, "straggler" if several of them are slow and
/// do not grow steadily, or if the run has two paces.
void look_for_drift(const RunLog& log, const RunSetting& setting, io::WatchReport& r);

/// Applies the rules of launch/watch/learning_curve.h: "gradient-norm", "gradient-spike", "loss-spike";
/// "loss" if it is NaN, "skipped-steps" if the last ones changed no weight.
void look_at_learning(const RunLog& log, io::WatchReport& r);

/// "pause": one step, or the time between two, that is far longer than the others. Requires: r.wall_seconds is set.
void look_for_pause(const RunLog& log, io::WatchReport& r);

/// "straggler" of steps that were slow for a time, where no alarm of drift, pauses or stragglers says it: the steps are
/// uneven as calibrate judges them (logs::is_uneven). Requires: r.wall_seconds is set.
void look_for_slow_part(const RunLog& log, io::WatchReport& r);

/// "missing-steps": a log that states every step, or every tenth, lacks some.
void look_for_gaps(const RunLog& log, io::WatchReport& r);

/// "stalled": `silent` are the seconds since the last step of a run in progress.
void look_for_silence(double silent, const std::vector<double>& seconds, const RunSetting& setting,
                      io::WatchReport& r);

/// Seconds of silence after which look_for_silence() gives an alarm; nullopt if no step is timed.
[[nodiscard]] std::optional<double> most_silence(const std::vector<double>& seconds);

/// Requires: not empty.
[[nodiscard]] double mean_of(const std::vector<double>& values);
/// Values that are not pauses.
[[nodiscard]] std::vector<double> steady(const std::vector<double>& values, double typical);
[[nodiscard]] std::vector<double> first_of(const std::vector<double>& values, std::size_t count);
[[nodiscard]] std::vector<double> last_of(const std::vector<double>& values, std::size_t count);
/// Times of the last ones that are no pauses; all of them where most are long.
[[nodiscard]] std::vector<double> steady_recent(const std::vector<double>& recent, double level);

}  // namespace trnplan::launch
