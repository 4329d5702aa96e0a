// State of a watched run, as JSON (docs/json.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trnplan::io {

struct WatchAlarm {
  std::string kind;  ///< docs/json.md lists them
  std::string message, cause, fix;
  std::optional<std::int64_t> step;  ///< the step where it began
  int line = 0;                      ///< of the log; 0: of no single line
  bool fatal = false;                ///< the run has failed, although it may go on
};

struct WatchFailure {
  std::string kind, rule, text, problem, fix;
  std::string file;
  int line = 0, count = 0;
  std::vector<int> ranks, chips;
  std::string next;  ///< strategy in the words of describe(); "" none
  std::optional<double> next_step_seconds;
  bool went_on = false;  ///< steps were done after it
};

struct WatchEvent {
  std::string kind, text;
  int line = 0;
};

/// Explanation of steps that are slower than they should be (launch/watch/explanations.h).
struct WatchExplanation {
  std::string kind;  ///< docs/json.md lists them
  std::string what, check;
  std::string scenario;  ///< for simulate; "": none, or its step is never that long
  std::optional<double> value, times, step_seconds;
  double probability = 0;
  bool as_likely = false;            ///< the log does not tell it from the likeliest
  std::vector<std::string> command;  ///< that simulates it; empty without a scenario
};

struct WatchReport {
  std::string source;  ///< of the log
  std::string state;   ///< of the scheduler's job; "" not known
  std::int64_t step = 0, total = 0;
  std::optional<double> step_seconds;    ///< median of the run so far
  std::optional<double> recent_seconds;  ///< mean of the last 20 steps (5 lines at least) without pauses
  int timed_steps = 0;
  int recent_steps = 0;             ///< that `recent_seconds` are of, pauses included
  std::optional<double> predicted;  ///< s
  std::optional<std::pair<double, double>> predicted_90;
  std::optional<double> tokens_per_second, loss;
  std::optional<double> memory_bytes, predicted_memory_bytes;  ///< of the fullest core
  std::string_view device = "device";                          ///< the usual word for the device of a rank
  bool loss_lost = false;      ///< the last loss is NaN, and `loss` the last one before
  bool smaller_batch = false;  ///< some of the steps have a smaller batch than the prediction
  std::optional<double> wall_seconds, goodput, eta_seconds, usd_so_far, usd_total;
  int restarts = 0;
  std::int64_t lost_steps = 0;
  /// Steps of the run before the log; `usd_total` counts them, `usd_so_far` does not.
  std::int64_t steps_before = 0;
  bool finished = false;
  std::vector<WatchAlarm> alarms;
  std::vector<WatchEvent> events;
  std::vector<WatchFailure> failures;
  std::vector<WatchExplanation> explanations;  ///< of slow steps, the likeliest first
  std::string to_tell;                         ///< what to run to tell the likeliest apart
  std::vector<std::string> remarks;
};

/// True for what the log itself states: it competes with no other explanation, and its probability is not meant.
[[nodiscard]] bool is_fact(const WatchExplanation& explanation);
/// Kind of the alarm of steps that need more FLOPS than the devices have.
inline constexpr const char* kBeyondPeak = "beyond-peak";
/// Kind of the alarm of a log that is of another job than it is compared with.
inline constexpr const char* kOtherJob = "other-job";
/// True if the report has an alarm of the kind.
[[nodiscard]] bool has_alarm(const WatchReport& report, std::string_view kind);
/// True if the run broke and no step was done since.
[[nodiscard]] bool broke(const WatchReport& report);
/// True if the last steps left the pace of the first: what is left takes theirs.
[[nodiscard]] bool drifts(const WatchReport& report);
/// True if an alarm says that its work is of no use any more.
[[nodiscard]] bool is_lost(const WatchReport& report);
/// True if it broke, or if its work is of no use any more.
[[nodiscard]] bool failed(const WatchReport& report);

/// Words on how it failed: "out of memory on a device, after step 40"; "" if it has not.
[[nodiscard]] std::string how_it_failed(const WatchReport& report);

/// One object on one line, ending in a newline; unknown values are null.
std::string watch_json(const WatchReport& report);

}  // namespace trnplan::io
