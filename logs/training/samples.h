// Samples from logs and profiles of real runs, whatever tool wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/diagnostic.h"
#include "text/warnings.h"

namespace trnplan::logs {

/// Runs of one file that are read; the rest of it has a warning. Our own value: memory stays bounded.
inline constexpr std::size_t kMostRuns = 1000;

/// Fewest steps by which the pace of a run is judged. Our own value.
inline constexpr int kFewestSteps = 5;

/// Ratio of slow steps to quick ones of a layout beyond which no one factor describes them. Assumed: steps of
/// a healthy run differ by 1 to 5 %.
inline constexpr double kUneven = 1.3;

/// The layout that ran, as far as the log states it.
struct StatedLayout {
  std::optional<std::int64_t> devices, tensor_parallel, pipeline_parallel, virtual_pipeline, context_parallel,
      micro_batch;
};

/// The time of an optimizer step of one run in a log.
struct StepSample {
  SourcePos at;        ///< the first line that it was read from
  int last_line = 0;   ///< the last one
  std::string format;  ///< "progress bar", "NxD step lines", "Megatron iterations", ...
  std::string basis;   ///< origin of the seconds: "iteration_time as printed", ...
  /// nxdt, nemo-megatron, nxd as in models::Software; megatron, huggingface; "" unknown.
  std::string framework;
  std::string release;  ///< of the Neuron SDK; "" not stated
  StatedLayout layout;
  double seconds = 0;     ///< of one step
  bool by_clock = false;  ///< the seconds are differences of the printed clock
  /// Standard deviation of a single step, from the median absolute deviation, and at least that of the tick
  /// of the clock; absent with fewer than two values and no such tick.
  std::optional<double> spread;
  /// A tenth of the single steps, two at least, takes at most `low` s, as many at least `high`; 0 with fewer than
  /// kFewestSteps steps.
  double low = 0, high = 0;
  /// Median of the last third of the steps over that of the first; 1 with fewer than 3 kFewestSteps steps.
  double trend = 1;
  int count = 0;     ///< steps that the seconds are based on
  int unlike = 0;    ///< steps that take more or less time than most: by the clock they are left out
  int left_out = 0;  ///< steps that were seen and not used: warm-up, and differences that no clock shows
  /// Time from one step to the next with logging, data loading and checkpoints, if the log shows it in
  /// addition to a shorter time of the step itself.
  std::optional<double> wall_seconds;
  bool wall_by_rate = false;           ///< `wall_seconds` follows from the throughput that the log states
  std::optional<double> global_batch;  ///< sequences of a step
  /// The same when the batch has grown, as the arguments in the log state it.
  std::optional<double> full_batch;
  std::optional<double> sequence;              ///< tokens of a sequence
  std::optional<double> sequences_per_second;  ///< the last one that the log states, often a moving average
  /// Sequences by that throughput in the step times that it is of. Fewer than those of a step where these times are not
  /// the whole of it.
  std::optional<double> sequences_a_step;
  std::optional<double> tokens_per_second;
  std::optional<double> device_tokens_per_second;  ///< of one device; median over the lines
  /// Likewise, as its framework counts FLOPs of a model: matrix products without recomputation.
  std::optional<double> device_flops_per_second;
};

/// True if the steps of a sample with these low and high have no common pace.
[[nodiscard]] inline bool is_uneven(double low, double high) {
  return low > 0 && high > kUneven * low;
}
/// Words on them, before range_words().
inline constexpr const char* kNoCommonPace = "the steps have no common pace";
/// Sets low, high and trend by the times of single steps in the order of the log.
void set_range(std::vector<double> single, StepSample& sample);
/// "a tenth takes at most 9 s, a tenth at least 13 s", or "a part" of few steps.
[[nodiscard]] std::string range_words(int steps, double low, double high);

/// Memory of one core.
struct MemorySample {
  SourcePos at;
  std::optional<double> bytes;  ///< at its peak; absent: known only not to fit
  std::optional<int> core;      ///< of its node; absent: any core that runs the graph
  bool reserved = false;        ///< by the framework on one device, for all that it holds
  std::string where;            ///< the source of the report, and its subject
  int count = 1;                ///< number of reports
};

/// One collective inside a compiled graph: no launch from the host. Not to be mixed with nccom-test's times.
struct CollectiveSample {
  SourcePos at;           ///< the first of them
  std::string op;         ///< canonical_op(), else as printed
  std::string type;       ///< of the elements, as printed
  std::string algorithm;  ///< as printed, may be empty
  int ranks = 0;          ///< of a group; 0: not stated
  double bytes = 0;       ///< the larger of input and output of a rank: nccom-test's size
  double seconds = 0;     ///< the least of them: the others include waiting for the last rank
  double median_seconds = 0;
  int count = 0;
};

/// A profiler's data on one run of a compiled graph on one core. Times in seconds; absent: not stated.
struct DeviceSample {
  SourcePos at;
  std::string name;  ///< of the graph, as printed
  double seconds = 0;
  std::optional<double> active_seconds;  ///< something ran
  std::optional<double> model_flops, hardware_flops;
  std::optional<double> hbm_bytes;                  ///< read and written
  std::optional<double> collective_seconds;         ///< sum over collectives
  std::optional<double> collective_active_seconds;  ///< their union
  std::optional<double> mfu;                        ///< a fraction, with the tool's own peak
  std::optional<double> clock_hz;                   ///< cycles over seconds
  std::map<std::string, double> engine_seconds;     ///< busy, by engine
};

struct StepRecord;

/// Receives each step that a line states, as the lines are read: for watch, which follows a run.
class StepSink {
 public:
  virtual ~StepSink() = default;
  /// `format` as StepSample::format; `averages`: the seconds are the mean since the previous line.
  virtual void step(const StepRecord& record, const std::string& format, bool averages) = 0;
};

/// All samples of one file.
struct Samples {
  std::vector<StepSample> steps;
  std::vector<MemorySample> memory;
  std::vector<CollectiveSample> collectives;
  std::vector<DeviceSample> devices;
  bool simulated = false;  ///< metadata of a profile that the compiler estimated
  std::string made_on;     ///< name of the device that a trace was made on; "": not stated
  Warnings warnings;
  StepSink* sink = nullptr;
};

}  // namespace trnplan::logs
