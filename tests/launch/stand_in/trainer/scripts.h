// Behaviour of each training script as far as a launch sees it: the words that it refuses, the checkpoint
// that it resumes, its output, and where it saves. Sources:
// tests/launch/folder/entry_points/table.json; lines as in the samples of tests/calibrate/fixtures/logs.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace trnplan::stand_in {

/// Ends the script with this exit code: 2 as argparse does, 1 as an exception or an assertion does.
struct Refused : std::runtime_error {
  Refused(int with, const std::string& what) : std::runtime_error(what), code(with) {}
  int code;
};

struct Training {
  std::int64_t steps = 0;        ///< last step
  std::int64_t start = 0;        ///< steps that are already done
  std::int64_t save_every = 0;   ///< 0 = it saves nothing
  bool save_end = false;         ///< also the last step, if it is no multiple of that
  std::int64_t keep = 1;         ///< checkpoints; -1 = all
  std::filesystem::path folder;  ///< of checkpoints
  int printing_rank = 0;
  double batch = 0;  ///< sequences per step
};

/// One finished step.
struct Moment {
  std::int64_t step = 0;  ///< counts from 1
  double seconds = 0, elapsed = 0;
  std::time_t clock = 0;
};

class Script {
 public:
  virtual ~Script() = default;
  /// Throws Refused.
  virtual Training read(const std::vector<std::string>& words, int world) = 0;
  /// Lines of the log, with their ends.
  virtual std::string begun(const Training&) { return ""; }
  virtual std::string ended() const { return ""; }
  virtual std::string line(const Training& t, const Moment& m) const = 0;
  /// Prints the script's output on it.
  virtual std::string save(const Training& t, std::int64_t step) = 0;
};

/// Script of the file's name. Throws Refused if there is none.
std::unique_ptr<Script> script_named(const std::string& file);

}  // namespace trnplan::stand_in
