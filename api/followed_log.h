// Location of a watched run's log, and the data added since the last look.
#pragma once

#include <memory>
#include <string>

#include "io/input/log_stream.h"
#include "launch/watch/watched_log.h"
#include "text/gzip_stream.h"
#include "text/remarks.h"

namespace trnplan::api {

struct Source {
  std::string path;  ///< "-" = standard input
  std::string job;   ///< of Slurm; empty for a file
};

struct JobState {
  std::string state, log;
};

/// State of a job from Slurm's controller. Throws InputError.
[[nodiscard]] JobState ask_slurm(const std::string& id);
/// State after another query of the controller. A controller that restarts, or is busy, is no reason to stop
/// watching. One that has forgotten the job is: the job ended.
[[nodiscard]] std::string state_after(const std::string& before, const std::string& job, Remarks& remarks);
/// True if no further step follows in this state.
[[nodiscard]] bool over(const std::string& state);
/// Source for a file, or for the job of that id.
[[nodiscard]] Source source_of(const std::string& target);

/// Reads on from the last position; rereads a log that was truncated or replaced from its start. Holds no
/// more of the log than launch::WatchedLog.
class FollowedLog {
 public:
  /// Future of the log: it may grow, or is read once, in which case it may be packed with gzip.
  enum class Reading { growing, once };

  /// Keeps a reference to `remarks`: rereading a log, and damage of a packed one, add a remark.
  FollowedLog(Source source, Remarks& remarks, Reading reading = Reading::growing);

  /// Reads all that is available; true if there was something new. Waits for the end of standard input and of
  /// pipes. Throws InputError.
  bool look();
  /// Reads one chunk; false at the end.
  [[nodiscard]] bool look_once();
  [[nodiscard]] launch::LogReading now() const;
  /// The first bytes read, at most some thousand.
  const std::string& start() const { return start_; }
  /// SHA-256 of the bytes read.
  [[nodiscard]] std::string sha256() const;
  /// Number of these bytes.
  [[nodiscard]] std::uint64_t bytes() const { return stream_ ? stream_->hashed() : 0; }

  const Source& source() const { return source_; }
  const std::string& name() const { return name_; }

 private:
  void begin();
  void open();
  bool replaced();

  Source source_;
  Remarks& remarks_;
  std::string name_, start_, chunk_;
  Reading reading_;
  std::unique_ptr<io::LogStream> stream_;
  std::unique_ptr<HeadedStream> headed_;  ///< of a pipe whose start was looked at
  std::unique_ptr<GzipStream> unpacked_;  ///< of a packed log
  std::unique_ptr<launch::WatchedLog> log_;
};

}  // namespace trnplan::api
