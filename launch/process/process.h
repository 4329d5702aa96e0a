// Runs another program. Arguments are a vector; no shell parses them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace trnplan::launch {

struct ProcessResult {
  bool started = false;  ///< false = no such program, or no permission to run it; `error` says why
  int code = 0;          ///< exit code; 128 + n if signal n ended it
  std::string output;    ///< of standard output, the first kMostOutput bytes
  std::string error;     ///< of standard error, likewise
  bool late = false;     ///< killed because its time was over; `error` says so

  bool ok() const { return started && code == 0; }
};

inline constexpr std::size_t kMostOutput = 16u << 20;

struct ProcessOptions {
  bool capture = true;             ///< false = output goes to ours, and `output` and `error` stay empty
  std::vector<std::string> unset;  ///< variables that the program does not get
  int held = -1;                   ///< a file descriptor that it also keeps open, so that a lock outlives us
  int seconds = 0;                 ///< killed after this time; 0 = no limit
};

/// Time for a question to a scheduler: a busy slurmctld answers within its MessageTimeout of 10 to 100 s.
inline constexpr int kQuerySeconds = 120;
inline const ProcessOptions kQuery = {true, {}, -1, kQuerySeconds};
/// Bytes of a program's message that a message of ours repeats.
inline constexpr std::size_t kSaid = 200;

/// Looks arguments[0] up on PATH and waits for the end of the program. Throws std::system_error if the system
/// has no pipes or processes left. Requires: at least one argument, none with a zero byte.
ProcessResult run_program(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

/// Function that runs a program: run_program(), or a stand-in of a test.
using Runner = std::function<ProcessResult(const std::vector<std::string>&, const ProcessOptions&)>;

}  // namespace trnplan::launch
