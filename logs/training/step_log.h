// Time of a step from the statements of single lines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/training/samples.h"

namespace trnplan::logs {

/// Seconds within which all nodes print the same line, each by its own clock: they wait for each other. A job that is
/// started again takes longer. Our own value.
inline constexpr double kNodesApart = 60;
/// True if a line of a step that was `seen` before is another node's, and no restart: nodes write in blocks of lines.
/// Times are s in a calendar; `last` is that of the last line. `goes_on`: the line before was of that node, too.
[[nodiscard]] inline bool is_other_node(double time, double seen, double last, bool goes_on) {
  return time - seen <= kNodesApart && seen - time <= kNodesApart && (goes_on || time <= last);
}

/// Statements of one line on one step.
struct StepRecord {
  std::string_view rank;          ///< LogLine::rank
  std::string_view run;           ///< name of the run, if lines have one: another name is another run
  std::int64_t epoch = 0;         ///< the clock and the count of steps start anew with each
  std::int64_t step = 0;          ///< within the epoch
  std::optional<double> clock;    ///< seconds, cut to whole ticks, since a fixed moment
  double tick = 1;                ///< s, of the clock
  std::optional<double> seconds;  ///< of the step, as the line states it
  std::optional<double> batch;    ///< sequences of the step, as the line states it
  std::optional<double> sequences_per_second;
  /// Two counts of one line, for the batch of logs that do not state it.
  std::optional<double> global_step, consumed;
  int line = 0;
  // For those who follow the run; the time of a step does not depend on them.
  std::int64_t total = 0;       ///< steps of the epoch, or of the run, as stated in the line; 0: not stated
  std::optional<double> stamp;  ///< the line's calendar time, s
  bool since_epoch = false;     ///< true if the clock and the steps start anew with each epoch
  std::optional<double> loss;   ///< NaN if the text is not a number
  std::optional<double> gradient_norm;  ///< the same
  /// Numbers of steps, of those that the line covers: with a NaN, and without a change of weights.
  std::optional<std::int64_t> nan_steps, skipped_steps;
  std::optional<double> device_tokens_per_second;  ///< of one device
  std::optional<double> device_flops_per_second;   ///< likewise, of the model, as the framework counts them
};

/// Collects records of one format and makes a sample of each run.
///
/// A run ends where the step or the clock goes back (a restart), a calendar's by more than kNodesApart, or the name
/// changes. A step that is printed again replaces the earlier line: progress bars show old values first. If several
/// ranks print the same, the one with most steps is used.
///
/// The time of a step is the weighted median of the stated seconds. Means weigh by the steps that they cover
/// (at most the log's own interval: steps that an excerpt leaves out are not measured). A first step of the
/// run that holds compiling and loading is left out (it is step 0 or 1, or takes 20 % more than the median of
/// the others). Without stated seconds, the time is the mean of the differences of the clock that are within
/// two ticks, or 10 %, of their median (the ticks cancel in a sum; pauses for checkpoints and
/// validation fall out), without those from the start of the clock or to step 1; the tenths of the sample are
/// those of all where more than a quarter falls out. If more than a quarter of the steps falls out, or is more than
/// 10 % off the median of stated seconds, a warning says so: the run has two paces. Where the batch grows, the steps of
/// the last batch with kFewestSteps lines are used alone; fewer steps of a batch after it are a sample, too.
///
/// At most a million records are kept; further ones are left out, with a warning.
class StepLog {
 public:
  struct Traits {
    std::string format;     ///< StepSample::format
    std::string basis;      ///< of stated seconds: "step_time as printed"
    bool averages = false;  ///< stated seconds are the mean since the previous line of the log
  };
  StepLog(Traits traits, std::string name) : traits_(std::move(traits)), name_(std::move(name)) {}

  void add(const StepRecord& record, Samples& out);
  /// Writes samples in the order of lines, and warnings about runs that show no time. Each has `framework`
  /// and `sequence`.
  void finish(const std::string& framework, std::optional<double> sequence, Samples& out);
  bool empty() const { return ranks_.empty(); }

 private:
  struct Kept {
    std::int64_t epoch, step;
    double clock, seconds;  ///< NaN: absent
    int line;
    double device_tokens, device_flops;  ///< a second; NaN: absent
    double batch;                        ///< sequences; NaN: absent
  };
  struct Run {
    std::string name;
    std::vector<Kept> steps;
    int first_line = 0, last_line = 0;
    double tick = 0;  ///< s, the largest of the clock
    std::optional<double> batch, sequences_per_second;
    bool batch_changes = false;
    bool echoed = false;  ///< the line before was another node's
    // consumed = batch * global_step + something, checked over at least two differences
    std::optional<double> global_step, consumed, growth;
    int growths = 0;
    bool growth_changes = false;
  };
  struct Value {
    double seconds = 0;
    double weight = 1;  ///< steps
  };

  bool goes_on(const Run& run, const StepRecord& record) const;
  static bool echoes(Run& run, const StepRecord& record);
  static void note_batch(Run& run, const StepRecord& record);
  static std::int64_t interval_of(const Run& run);
  static std::vector<Value> stated(const Run& run, bool averages, double& left_out);
  static std::vector<Value> differences(const Run& run, double& left_out, std::vector<Value>& all);
  static std::optional<double> of_device_a_step(const Run& run, double Kept::*rate);
  static std::optional<double> sequences_a_step(const Run& run);
  static std::optional<Run> of_one_batch(const Run& run);
  static std::optional<Run> of_new_batch(const Run& run);
  std::optional<StepSample> sample_of(const Run& run) const;

  Traits traits_;
  std::string name_;
  std::map<std::string, std::vector<Run>, std::less<>> ranks_;
  std::size_t records_ = 0;
  bool lost_ = false;  ///< a loss was not a number
};

/// The weighted median of values; the mean of the two middle ones if the weight halves between them.
/// Requires: at least one value.
double weighted_median(std::vector<std::pair<double, double>> values_and_weights);

}  // namespace trnplan::logs
