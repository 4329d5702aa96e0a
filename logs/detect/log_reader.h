// Reads a log line by line: steps, memory, tables of nccom-test, in any mixture.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "logs/detect/detect.h"
#include "logs/nccom/nccom_test.h"
#include "logs/profile/neuron_monitor.h"
#include "logs/training/compiler_lines.h"
#include "logs/training/hf_metrics.h"
#include "logs/training/megatron_lines.h"
#include "logs/training/nemo_lines.h"
#include "logs/training/nxd_lines.h"
#include "logs/training/progress_bars.h"
#include "logs/training/samples.h"
#include "logs/training/titan_lines.h"
#include "text/line_splitter.h"
#include "text/log_lines.h"

namespace trnplan::logs {

/// The readers of lines, in the order in which they are offered a line: the first that takes it ends the
/// search. A reader of a new kind of line is a type in this list. It has `kKind` as in Detected::kinds, a
/// constructor from the file's name, `bool read(const LogLine&, Samples&)` and `finish(Samples&)`; it is
/// copied with its contents.
using LineReaders = std::tuple<ProgressBars, NxdLines, NemoLines, MegatronLines, TitanLines, CompilerLines>;

/// Reads a log. It holds the samples of the lines so far, and no line. A copy of it can be finished while the
/// log still grows.
class LogReader {
 public:
  explicit LogReader(const std::string& name, const NccomCommand& fallback = {});

  /// Reads a line and returns it as other readers of logs see it, valid until the next one. `sink` receives
  /// each step that it states. Throws InputError for a table that trnplan itself made.
  const LogLine& read(const RawLine& line, StepSink* sink = nullptr);

  /// The samples of the log; without a kind if nothing in it is known. No line may follow. Throws InputError,
  /// if nothing else is known, for words of nccom-test without a table, and for too many tables.
  Detected finish();

  /// True if every line was empty or blank.
  bool blank() const { return blank_; }

 private:
  void read_tables(const RawLine& line);
  void finish_tables(Detected& result);

  std::string name_;
  Samples samples_;
  HfMetrics trainer_;  ///< its lines may contain another reader's, a progress bar
  LineReaders readers_;
  NeuronMonitor monitor_;
  NccomLines tables_;
  std::optional<InputError> table_faults_;  ///< for too many tables: all are left out
  bool table_words_ = false;                ///< a line names the first column of a table
  std::size_t trainer_lines_ = 0;
  std::array<std::size_t, std::tuple_size_v<LineReaders>> lines_{};  ///< number that each of the readers took
  bool blank_ = true;
  std::string clean_;
  LogLine line_;
};

}  // namespace trnplan::logs
