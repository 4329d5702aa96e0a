// Where the log of a watched run is, and what came to it since it was looked at last.
#pragma once

#include <memory>
#include <string>

#include "io/input/log_stream.h"
#include "launch/watch/watched_log.h"
#include "text/remarks.h"

namespace trnplan::api {

struct Source {
  std::string path;  ///< "-": standard input
  std::string job;   ///< of Slurm; empty for a file
};

struct JobState {
  std::string state, log;
};

/// What Slurm's controller knows of a job. Throws InputError.
[[nodiscard]] JobState ask_slurm(const std::string& id);
/// A controller that restarts, or is busy, is no reason to stop watching. One that forgot the job is: it
/// ended.
[[nodiscard]] std::string state_after(const std::string& before, const std::string& job, Remarks& remarks);
/// No step follows when the job is in this state.
[[nodiscard]] bool over(const std::string& state);
/// Of a file, or of the job of that id.
[[nodiscard]] Source source_of(const std::string& target);

/// Reads on where it stopped; a log that was cut or replaced meanwhile is read from its start. Holds no more
/// of the log than launch::WatchedLog.
class FollowedLog {
 public:
  /// Keeps a reference to `remarks`: a log that is read anew is worth one.
  FollowedLog(Source source, Remarks& remarks);

  /// Reads all there is; true when there was something new. Waits for the end of standard input and of pipes.
  /// Throws InputError.
  bool look();
  /// Reads one chunk; false at the end.
  [[nodiscard]] bool look_once();
  [[nodiscard]] launch::LogReading now() const;
  /// Of what was read.
  [[nodiscard]] std::string sha256() const;

  const Source& source() const { return source_; }
  const std::string& name() const { return name_; }

 private:
  void begin();
  bool replaced();

  Source source_;
  Remarks& remarks_;
  std::string name_, start_, chunk_;
  std::unique_ptr<io::LogStream> stream_;
  std::unique_ptr<launch::WatchedLog> log_;
};

}  // namespace trnplan::api
