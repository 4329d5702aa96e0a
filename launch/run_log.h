// A training log as it grows: which steps were done, how long each took, and what interrupted them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "units/diagnostic.h"

namespace trnplan::launch {

/// What happened between steps, in the words of the scheduler or of our own scripts.
struct RunEvent {
  SourcePos at;
  std::string
      kind;  ///< "start", "failed", "requeued", "auto-resume", "node-failure", "cancelled", "finished"
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
  std::optional<std::int64_t> start;  ///< time of the start before it, where the log states it
  std::vector<StepTime> steps;        ///< without the first one where that holds compiling and loading
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

  /// Every step time of the run, in the order of the log.
  std::vector<double> seconds() const;
};

/// Progress bars of Lightning, NxDT and NeMo ("Epoch 0:  4%|#| 4/91 [21:20<...]"), step lines of NxD ("step 2
/// step_time 243.9s ..."), Slurm's and HyperPod's words, and "[trnplan] start" of train.sbatch. The time of a
/// step is the difference of the bar's clock, which counts whole seconds, or what the line states. A step or
/// a clock that goes back begins a new stretch. Linear in the text.
RunLog read_run_log(std::string_view text, const std::string& name);

}  // namespace trnplan::launch
