// Reads a log line by line: steps, memory, tables of nccom-test, in any mixture.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "logs/detect/detect.h"
#include "logs/nccom/nccom_test.h"
#include "logs/profile/neuron_monitor.h"
#include "logs/training/compiler_lines.h"
#include "logs/training/hf_metrics.h"
#include "logs/training/megatron_lines.h"
#include "logs/training/nxd_lines.h"
#include "logs/training/progress_bars.h"
#include "logs/training/samples.h"
#include "logs/training/titan_lines.h"
#include "text/line_splitter.h"
#include "text/log_lines.h"

namespace trnplan::logs {

/// Holds what the lines so far say, and no line. A copy of it can be finished while the log still grows.
class LogReader {
 public:
  explicit LogReader(const std::string& name, const NccomCommand& fallback = {});

  /// The line as other readers of logs see it; valid until the next one. Each step that it states is told to
  /// `sink`. Throws InputError for a table that trnplan itself made.
  const LogLine& read(const RawLine& line, StepSink* sink = nullptr);

  /// What the log holds; without a kind when nothing in it is known. No line may follow. Throws InputError,
  /// when nothing else is known, for words of nccom-test without a table, and for too many tables.
  Detected finish();

  /// Every line was empty, or blank.
  bool blank() const { return blank_; }

 private:
  void read_tables(const RawLine& line);
  void finish_tables(Detected& result);

  std::string name_;
  Samples samples_;
  ProgressBars bars_;
  NxdLines nxd_;
  MegatronLines megatron_;
  TitanLines titan_;
  HfMetrics trainer_;
  CompilerLines compiler_;
  NeuronMonitor monitor_;
  NccomLines tables_;
  std::optional<InputError> table_faults_;  ///< too many of them: all are left out
  bool table_words_ = false;                ///< a line names the first column of a table
  std::size_t bar_lines_ = 0, nxd_lines_ = 0, megatron_lines_ = 0, titan_lines_ = 0, trainer_lines_ = 0,
              compiler_lines_ = 0;
  bool blank_ = true;
  std::string clean_;
  LogLine line_;
};

}  // namespace trnplan::logs
