// Reader of a growing training log: the steps that were done, their durations and the interruptions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/watch/learning_curve.h"
#include "launch/watch/step_gaps.h"
#include "logs/training/samples.h"
#include "text/diagnostic.h"
#include "text/log_lines.h"

namespace trnplan::launch {

/// Event between steps, in the words of the scheduler or of our own scripts.
struct RunEvent {
  SourcePos at;
  /// "start", "failed", "requeued", "auto-resume", "node-failure", "cancelled", "finished", "stopped".
  std::string kind;
  std::string text;                  ///< of the line, printable, shortened
  std::optional<std::int64_t> time;  ///< seconds since 1970, UTC, if the line states it
};

struct StepTime {
  std::int64_t step = 0;
  double seconds = 0;  ///< of one step
  int line = 0;
  std::int64_t steps = 1;    ///< that the line covers
  double saving = 0;         ///< s of `seconds` in which the log says that the run saved a checkpoint
  std::int64_t useless = 0;  ///< of `steps`: NaN or skipped, so that the run learnt nothing in them
  double batch = 0;          ///< sequences of each, as the line states them; 0: it does not
  /// Part of the whole batch, less than 1 in a ramp-up (launch/watch/batches.h): `seconds` are those of a whole step.
  double share = 1;
};

/// Time between two lines beyond what their steps took.
struct Pause {
  std::int64_t after = 0, before = 0;  ///< the steps around it
  double passed = 0, stated = 0;       ///< s, on the clock and of the steps
  int since = 0, line = 0;             ///< lines before and after it
};

/// A checkpoint that the run waited for.
struct Save {
  double seconds = 0;           ///< as the log states them; where each node does, the most
  int line = 0, last = 0;       ///< the first and the last that state it
  std::optional<double> clock;  ///< s since 1970, at its end, of the line with these seconds
};

/// Steps of which the log says that something went wrong.
struct BadSteps {
  std::int64_t count = 0, first = 0;
  int line = 0;  ///< of the first
};

/// Consecutive steps without a restart.
struct Stretch {
  std::int64_t first = 0, last = 0;   ///< steps that the log shows
  std::int64_t began = 0;             ///< the step that it began with, as the log states it, else `first`
  double elapsed = 0;                 ///< s on the run's own clock until the last step
  double before_first = 0;            ///< s of `elapsed` until the first step that the log shows
  double with_first = 0;              ///< the same with the first step: compiling and loading included
  bool first_untimed = false;         ///< the clock does not show the duration of the first step
  std::optional<double> origin;       ///< of its clock, s in the calendar of its lines, if they are dated
  std::optional<std::int64_t> start;  ///< time of the start before it, if the log states it
  /// Times of the steps, without the first one if that includes compiling and loading: it takes far longer
  /// than the second, or is both the first step of a run and the only one.
  std::vector<StepTime> steps;
  int first_line = 0;
};

/// Steps since a restart, or of the whole run.
struct Pace {
  std::vector<double> seconds, without_saves;
  std::int64_t steps = 0;  ///< that these are of
  bool smaller = false;    ///< some have a smaller batch than the whole one
};

struct RunLog {
  std::vector<Stretch> stretches;
  std::vector<RunEvent> events;
  std::int64_t last = 0;       ///< step; 0 = none was done
  int last_line = 0;           ///< last line that shows a step
  std::int64_t total = 0;      ///< steps of the run, from the bar; 0 = unknown
  bool finished = false;       ///< the last step was done, or the log says so
  std::optional<double> loss;  ///< last one that is not NaN
  bool loss_lost = false;      ///< the last one is NaN
  CurveReading losses, gradient_norms;
  std::optional<StepGaps> gaps;  ///< steps missing between those of the log
  std::optional<Pause> pause;    ///< the longest, of logs that state both a clock and the time of a step
  int idle_starts = 0;     ///< after the first step, of which the log shows no step: each is a restart, too
  std::deque<Save> saves;  ///< after the first step; the last ones of very many
  std::int64_t interval = 1;    ///< usual number of steps from one line to the next
  BadSteps nan;                 ///< in the whole log
  BadSteps skipped;             ///< the last ones, without another between them
  bool always_skipped = false;  ///< no step before them changed a weight
  /// Summary of all steps at the end of a run or epoch, if no line states a single step.
  std::optional<logs::StepSample> mean;

  /// Seconds of checkpoints that were saved during the pause; 0: the log states none.
  [[nodiscard]] double saved_in(const Pause& of) const;

  /// Every step time of the run, in the order of the log; where a line covers several steps, their mean.
  std::vector<double> seconds() const;
  /// Share of the last timed step.
  [[nodiscard]] double share() const;
  /// Times of the steps with as large a batch as the last one: smaller ones fill pipelines less and take longer for
  /// each sequence.
  [[nodiscard]] std::vector<double> alike() const;
  /// Steps that these times are of. Steps that an excerpt leaves out are not timed.
  std::int64_t timed_steps() const;
  /// Steps of the last stretch with logs::kFewestSteps times, and after it; of the whole run if none has. A
  /// restart may change the speed, and what is left is done at the new one; so does another batch, of which five steps
  /// are timed.
  Pace pace() const;
};

/// Follows a run by the steps that the readers of calibrate/ find in its log, in any format, and by the words
/// of Slurm, HyperPod, train.sbatch ("[trnplan] start"), TorchTitan and Megatron-LM. The time of a step is the
/// one that its line states, or a difference of the log's clock. That clock may count whole seconds: for steps
/// that are short in comparison, it is the mean over enough steps. A start, and a step or a clock that goes
/// back, begins a new stretch. If a log has steps in several formats, the one with the most timed steps counts.
/// Among several ranks, the first one seen and rank 0 represent all, until that rank falls silent while another
/// continues. Lines of other nodes without a rank repeat steps at about the same time. Holds at most two million steps.
class RunLogReader : public logs::StepSink {
 public:
  explicit RunLogReader(std::string name) : name_(std::move(name)) {}

  /// Looks for events; they apply to the steps of later lines.
  void read(const LogLine& line);
  void step(const logs::StepRecord& record, const std::string& format, bool averages) override;
  /// The last line that states a step, of any format; 0: none.
  int last_line() const { return last_line_; }
  /// The run so far; `samples` are those that calibrate makes of the same log.
  RunLog now(const std::vector<logs::StepSample>& samples) const;

 private:
  /// Statement of one line about one step.
  struct Mark {
    std::int64_t step = 0, total = 0, epoch = 0;
    std::optional<double> clock;    ///< s since the epoch began, or since the first step seen
    std::optional<double> seconds;  ///< of the step
    double weight = 1;              ///< number of steps over which the seconds are a mean
    double batch = 0;               ///< sequences of the step; 0: not stated
    std::int64_t useless = 0;       ///< steps that taught nothing, perhaps more than the line covers
    bool absolute = false;          ///< the clock began long before the run
    bool anew = false;              ///< it went back behind the run's first line
    int line = 0;
  };
  /// Steps that are short compared with the clock's ticks, so that only their sum is timed.
  struct Window {
    double since = 0;       ///< clock before the first of them
    std::int64_t from = 0;  ///< step before the first of them
    int line = 0;           ///< before the first of them
    std::vector<StepTime> steps;
  };
  /// Steps of one format.
  struct Track {
    std::string format;
    std::vector<Stretch> stretches;
    std::int64_t last = 0, total = 0, epoch = 0;
    int last_line = 0;
    std::size_t timed = 0;
    Window window;
    double clock = 0, before_epoch = 0;
    std::optional<double> origin;  ///< of a clock that began long before the run
    /// Step and time of the last lines of a stretch with such a clock, by which other nodes' lines are known.
    std::deque<std::pair<std::int64_t, double>> moments;
    bool echoed = false;                ///< the line before was of such a node
    std::optional<std::int64_t> start;  ///< of the run, stated since the last step
    std::optional<std::int64_t> began;  ///< its first step, likewise
    LearningCurve losses{kLossShare}, gradient_norms{kNormShare};
    StepIntervals intervals;
    std::optional<Pause> pause;
    BadSteps nan, skipped;
    bool useful = false;  ///< a step changed the weights
    bool fresh = false;   ///< a start was seen since the last step
  };

  bool tells(std::string_view rank);
  /// True if another node states a step that was seen.
  bool repeats(const logs::StepRecord& record, const std::string& format);
  Track& track_of(const std::string& format);
  /// True for the ranks whose word on the run counts.
  bool represents(std::string_view rank) const;
  /// A start that follows is another stretch, whatever its first step is. `part`: how far the start has come.
  void restart(std::size_t part, std::optional<std::int64_t> time, std::optional<std::int64_t> step);
  /// Counts a checkpoint once, however many nodes state it.
  void note_save(const Save& save);
  static Mark counted(Track& track, Mark mark);
  /// Gives each step of the window the mean of all.
  void settle(Track& track) const;
  /// Seconds of saves stated behind line `since`, up to line `until`.
  [[nodiscard]] double saved(int since, int until) const;
  void add(Track& track, const Mark& mark);
  /// Counts steps that went wrong; true if all that the line covers were NaN.
  static bool count_bad(Track& track, const logs::StepRecord& record, bool first);

  std::string name_, rank_;
  /// Lines of other ranks since the last line of the followed one.
  std::map<std::string, int, std::less<>> others_;
  std::vector<Track> tracks_;
  std::vector<RunEvent> events_;
  std::deque<Save> saves_;
  std::optional<std::size_t> start_part_;  ///< the last one of a start that was seen since the last step
  /// Step and time, in s since 1970, as the last line of a start states them.
  std::optional<std::int64_t> start_step_;
  std::optional<double> start_clock_;
  std::optional<double> step_clock_;  ///< likewise, of the last line of a step
  int idle_starts_ = 0;
  std::optional<std::int64_t> start_, began_;  ///< for a track that has no step yet
  bool zero_ = false;                          ///< rank 0 states steps
  bool fresh_ = false, finished_ = false, loss_lost_ = false;
  std::optional<double> loss_;
  std::size_t kept_ = 0;
  int last_line_ = 0;
};

/// Reads the run from a whole text. Cost: linear in the text.
RunLog read_run_log(std::string_view text, const std::string& name);

}  // namespace trnplan::launch
