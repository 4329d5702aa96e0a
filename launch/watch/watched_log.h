// A growing log, and the findings of each reader so far.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/watch/run_log.h"
#include "logs/detect/detect.h"
#include "logs/detect/log_reader.h"
#include "logs/training/event_file.h"
#include "logs/training/failures.h"
#include "text/line_splitter.h"

namespace trnplan::launch {

/// Content of a log.
struct LogReading {
  RunLog run;
  std::vector<logs::Failure> failures;
  logs::Detected content;   ///< as calibrate reads it; without kinds if nothing is known yet
  std::string whole_steps;  ///< words of take_whole_steps() on the times of the run, if it changed them
  std::string whole_batch;  ///< words of take_whole_batch(), likewise
};

/// Reads bytes as they are written, with the readers of calibrate/: logs, and event files of TensorBoard.
/// Holds the findings and the start of one line or record, not the bytes. Memory does not grow with the log
/// but with its steps, up to two million.
class WatchedLog {
 public:
  explicit WatchedLog(const std::string& name)
      : name_(name), log_(name), run_(name), failures_(name), events_(name) {}

  /// Reads the next bytes. Throws InputError for formats that watch cannot read, such as packed files.
  void feed(std::string_view bytes);
  /// Everything read so far, including an incomplete last line. Cost: linear in the steps kept.
  LogReading now() const;
  /// Bytes of the log that are held.
  std::size_t held() const { return head_.size() + lines_.held(); }

 private:
  void decide();
  void read(std::string_view bytes);
  void read_line(const RawLine& line);

  std::string name_, head_;  ///< the first bytes, until they identify the log's format
  bool decided_ = false, event_file_ = false;
  LineSplitter lines_;
  logs::LogReader log_;
  RunLogReader run_;
  logs::FailureFinder failures_;
  logs::EventFile events_;
};

/// Reads a file that is not a growing log, such as a tool's JSON or CSV, once. `bytes` from the start.
LogReading read_whole(ByteStream& bytes, const std::string& name);

}  // namespace trnplan::launch
