// A training log as it grows: which steps were done, how long each took, and what interrupted them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/watch/learning_curve.h"
#include "launch/watch/step_gaps.h"
#include "logs/training/samples.h"
#include "text/diagnostic.h"
#include "text/log_lines.h"

namespace trnplan::launch {

/// What happened between steps, in the words of the scheduler or of our own scripts.
struct RunEvent {
  SourcePos at;
  std::string
      kind;  ///< "start", "failed", "requeued", "auto-resume", "node-failure", "cancelled", "finished",
             ///< "stopped"
  std::string text;                  ///< of the line, printable, shortened
  std::optional<std::int64_t> time;  ///< seconds since 1970, UTC, where the line states it
};

struct StepTime {
  std::int64_t step = 0;
  double seconds = 0;
  int line = 0;
};

/// Steps that follow each other without a restart.
struct Stretch {
  std::int64_t first = 0, last = 0;   ///< steps
  double elapsed = 0;                 ///< s on the run's own clock until the last step
  double before_first = 0;            ///< s of them until the first step that the log shows
  bool first_untimed = false;         ///< the clock shows nothing of the first step
  std::optional<std::int64_t> start;  ///< time of the start before it, where the log states it
  /// Without the first one where that holds compiling and loading: it takes far longer than the second, or is
  /// the first step of a run and the only one.
  std::vector<StepTime> steps;
  int first_line = 0;
};

struct RunLog {
  std::vector<Stretch> stretches;
  std::vector<RunEvent> events;
  std::int64_t last = 0;       ///< step; 0: none was done
  int last_line = 0;           ///< that shows a step
  std::int64_t total = 0;      ///< steps of the run as the bar says; 0: unknown
  bool finished = false;       ///< the last step was done, or the log says so
  std::optional<double> loss;  ///< the last one that is a number
  bool loss_lost = false;      ///< the last one is not
  CurveReading losses, gradient_norms;
  std::optional<StepGaps> gaps;  ///< steps that the log lacks though it has the others
  /// Where no line tells of a single step: what the log says of all of them at the end of a run or epoch.
  std::optional<logs::StepSample> mean;

  /// Every step time of the run, in the order of the log.
  std::vector<double> seconds() const;
};

/// Follows a run by the steps that the readers of calibrate/ find in its log, whatever their format, and by
/// the words of Slurm, HyperPod and train.sbatch ("[trnplan] start"). The time of a step is what its line
/// states, or the difference of the log's clock, which may count whole seconds: where steps are short beside one,
/// the mean of so many that their time shows. A step or a clock that goes
/// back begins a new stretch. Where a log has steps of several formats the one that times most of them
/// counts. Of several ranks the first that is seen, and rank 0, tell for all, until it falls silent while another
/// goes on. Holds at most two million steps.
class RunLogReader : public logs::StepSink {
 public:
  explicit RunLogReader(std::string name) : name_(std::move(name)) {}

  /// Looks for events; they count for the steps of later lines.
  void read(const LogLine& line);
  void step(const logs::StepRecord& record, const std::string& format, bool averages) override;
  /// The run so far; `samples` are those that calibrate makes of the same log.
  RunLog now(const std::vector<logs::StepSample>& samples) const;

 private:
  /// What one line says of one step.
  struct Mark {
    std::int64_t step = 0, total = 0, epoch = 0;
    std::optional<double> clock;    ///< s since the epoch began, or since the first step seen
    std::optional<double> seconds;  ///< of the step
    double weight = 1;              ///< steps that the seconds are a mean of
    bool absolute = false;          ///< the clock began long before the run
    int line = 0;
  };
  /// Steps that are short beside the clock's ticks, which only together show their time.
  struct Window {
    double since = 0;       ///< the clock before the first of them
    std::int64_t from = 0;  ///< the step before
    std::vector<StepTime> steps;
  };
  /// The steps of one format.
  struct Track {
    std::string format;
    std::vector<Stretch> stretches;
    std::int64_t last = 0, total = 0, epoch = 0;
    int last_line = 0;
    std::size_t timed = 0;
    Window window;
    double clock = 0, before_epoch = 0;
    std::optional<double> origin;       ///< of a clock that began long before
    std::optional<std::int64_t> start;  ///< of the run, stated since the last step
    LearningCurve losses{kLossShare}, gradient_norms{kNormShare};
    StepIntervals intervals;
    bool fresh = false;  ///< a start was seen since the last step
  };

  bool tells(std::string_view rank);
  Track& track_of(const std::string& format);
  static Mark counted(Track& track, Mark mark);
  /// Gives each step of the window the mean of all.
  static void settle(Track& track);
  void add(Track& track, const Mark& mark);

  std::string name_, rank_;
  std::map<std::string, int, std::less<>> others_;  ///< what other ranks said since the one that tells
  std::vector<Track> tracks_;
  std::vector<RunEvent> events_;
  std::optional<std::int64_t> start_;  ///< for a track that has no step yet
  bool fresh_ = false, finished_ = false, loss_lost_ = false;
  std::optional<double> loss_;
  std::size_t kept_ = 0;
};

/// The run that a whole text tells of. Linear in the text.
RunLog read_run_log(std::string_view text, const std::string& name);

}  // namespace trnplan::launch
