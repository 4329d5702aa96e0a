// Detection of a file's content, by the content and not by its name.
//
// Files of one kind: event files of TensorBoard; SQLite exports of Nsight Systems; JSON of nccom-test,
// neuron-monitor, neuron-profile, Kineto, PyTorch's flight recorder, results.json and the Trainer's
// all_results.json; Parquet and CSV of Neuron Explorer; CSV of measured collectives, of measured runs, of
// measured kernels and of a user's kernels; output of nccl-tests. All else is a log, for example one that Slurm
// collects. Lines of any kind may be mixed in it: progress bars, steps of NxD, iterations of Megatron, metrics
// of the Trainer, nccom-test tables, reports of neuron-monitor, the compiler's messages on memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "logs/nccl/flight_recorder.h"
#include "logs/nccl/nccl_tests.h"
#include "logs/nccom/nccom_test.h"
#include "logs/table/kernel_points.h"
#include "logs/table/measured_collectives.h"
#include "logs/training/samples.h"
#include "models/uncertainty/measured_run.h"
#include "text/byte_stream.h"

namespace trnplan::logs {

struct Detected {
  struct Kind {
    std::string name;        ///< of one piece: "progress-bar line", "nccom-test table", ...
    std::size_t pieces = 0;  ///< at least 1
  };
  std::vector<Kind> kinds;        ///< never empty
  std::vector<StepSample> steps;  ///< in the order of lines
  std::vector<MemorySample> memory;
  std::vector<CollectiveSample> collectives;  ///< inside graphs
  std::vector<DeviceSample> devices;
  bool simulated = false;                  ///< metadata of a profile that the compiler estimated
  std::string made_on;                     ///< as Samples::made_on
  std::vector<NccomTable> tables;          ///< with warnings of their own
  std::vector<MeasuredCollective> points;  ///< of a CSV of measured collectives
  std::vector<models::MeasuredRun> runs;   ///< of a CSV of measured runs
  KernelTable kernels;                     ///< of a CSV of measured kernels
  std::vector<NcclTable> nccl;             ///< of nccl-tests, or of a flight recorder with durations
  std::vector<FlightDump> dumps;           ///< of a flight recorder
  std::vector<MeasuredKernel> times;       ///< of a user's table of kernels (logs/table/kernel_times.h)
  /// Left out, and why, in the order of lines; if many, some are only counted.
  std::vector<Diagnostic> skipped;
};

/// Reads everything that the bytes hold, also where they are packed with gzip; then of damaged data the part
/// before the damage, with a warning. `name` is used in messages; `fallback` is the command of
/// nccom-test's tables that state none; `sink` receives the steps as they are read. Damaged files give the
/// sound parts, and warnings. Time is linear in the bytes. Memory is that of the result (at most a million
/// steps of each format), except that tables of measured collectives, runs and kernels are read whole. Throws
/// InputError if nothing in it is known (also if it is empty, packed, or of a known binary format that is not
/// read), if there are more nccom-test tables or rows than parse_nccom_test takes, and with all bad rows of a
/// CSV of measured collectives, runs or kernels.
Detected detect(ByteStream& bytes, const std::string& name, const NccomCommand& fallback = {},
                StepSink* sink = nullptr);
Detected detect(std::string_view text, const std::string& name, const NccomCommand& fallback = {});

/// Bytes of a file's beginning that show everything that refuse_unread() looks for.
inline constexpr std::size_t kRefusalHead = 264;
/// Throws InputError if the beginning of a file is that of a packed one, or of a known binary format that is
/// not read.
void refuse_unread(std::string_view head, const std::string& name);
/// True if the first bytes are those of no text.
bool is_binary(std::string_view head);
/// Fault of a file in which nothing is known; `head`: its first bytes.
Diagnostic unknown_content(std::string_view head, const std::string& name);
/// Throws InputError if the text has a table that trnplan made for a compiled graph, which looks like
/// nccom-test's.
void refuse_own_table(std::string_view text, const std::string& name);
/// Moves the samples into `result`, in the order of lines.
void take_samples(Samples&& samples, Detected& result);

}  // namespace trnplan::logs
