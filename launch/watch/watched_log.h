// A log that grows: what each reader makes of it so far.
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

/// What a log says.
struct LogReading {
  RunLog run;
  std::vector<logs::Failure> failures;
  logs::Detected content;  ///< as calibrate reads it; without kinds when nothing is known yet
};

/// Reads bytes as they are written, with the readers of calibrate/: logs, and event files of TensorBoard.
/// Holds what they say and the start of one line or record, not the bytes: memory does not grow with the log
/// but with its steps, of which it keeps two million.
class WatchedLog {
 public:
  explicit WatchedLog(const std::string& name)
      : name_(name), log_(name), run_(name), failures_(name), events_(name) {}

  /// The next bytes. Throws InputError for what watch cannot read: packed files, for example.
  void feed(std::string_view bytes);
  /// All that was read so far, with a line that is not over as it stands. Cost: linear in the steps kept.
  LogReading now() const;
  /// Bytes of the log that it holds.
  std::size_t held() const { return head_.size() + lines_.held(); }

 private:
  void decide();
  void read(std::string_view bytes);
  void read_line(const RawLine& line);

  std::string name_, head_;  ///< the first bytes, until they tell what the log is
  bool decided_ = false, event_file_ = false;
  LineSplitter lines_;
  logs::LogReader log_;
  RunLogReader run_;
  logs::FailureFinder failures_;
  logs::EventFile events_;
};

/// One look at a file of another form, which is no log that grows: what a tool wrote as JSON or CSV. `bytes`
/// from the start.
LogReading read_whole(ByteStream& bytes, const std::string& name);

}  // namespace trnplan::launch
