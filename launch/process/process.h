// Runs another program. Arguments are a vector; no shell ever sees them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace trnplan::launch {

struct ProcessResult {
  bool started = false;  ///< false: there is no such program, or it may not be run; `error` says why
  int code = 0;          ///< exit code; 128 + n when signal n ended it
  std::string output;    ///< of standard output, the first kMostOutput bytes
  std::string error;     ///< of standard error, likewise
  bool late = false;     ///< it was killed when its time was over; `error` says so

  bool ok() const { return started && code == 0; }
};

inline constexpr std::size_t kMostOutput = 16u << 20;

struct ProcessOptions {
  bool capture = true;             ///< false: output goes where ours goes, and `output`, `error` stay empty
  std::vector<std::string> unset;  ///< variables the program does not get
  int held = -1;                   ///< a file descriptor that it holds open, too: a lock outlives us with it
  int seconds = 0;                 ///< it is killed when it takes longer; 0: it may take for ever
};

/// Time for a question to a scheduler: a busy slurmctld answers within its MessageTimeout of 10 to 100 s.
inline constexpr int kQuerySeconds = 120;
inline const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};
/// Bytes that a message repeats of what a program said.
inline constexpr std::size_t kSaid = 200;

/// Looks arguments[0] up on PATH, waits for the end. Throws std::system_error when the system has no pipes or
/// processes left. Precondition: at least one argument; none holds a zero byte.
ProcessResult run_program(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// How a program is run: run_program(), or a stand-in of a test.
using Runner = std::function<ProcessResult(const std::vector<std::string>&, const ProcessOptions&)>;

}  // namespace trnplan::launch
