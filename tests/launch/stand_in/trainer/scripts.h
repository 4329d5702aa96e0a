// What each training script does with its words, as far as a launch sees it: what it refuses, where it goes on from,
// what it prints and where it saves. Sources: tests/launch/folder/entry_points/table.json; lines as the samples in
// tests/calibrate/fixtures/logs have them.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace trnplan::stand_in {

/// The script ends with it: 2 as argparse does, 1 as an exception or an assertion does.
struct Refused : std::runtime_error {
  Refused(int with, const std::string& what) : std::runtime_error(what), code(with) {}
  int code;
};

struct Training {
  std::int64_t steps = 0;        ///< at which it ends
  std::int64_t start = 0;        ///< that are done already
  std::int64_t save_every = 0;   ///< 0: it saves nothing
  bool save_end = false;         ///< also the last step, where it is no multiple of those
  std::int64_t keep = 1;         ///< checkpoints; -1: all
  std::filesystem::path folder;  ///< of checkpoints
  int printing_rank = 0;
  double batch = 0;  ///< sequences of a step
};

/// One step that is done.
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
  /// What stands in the log, with its end of line.
  virtual std::string begun(const Training&) { return ""; }
  virtual std::string ended() const { return ""; }
  virtual std::string line(const Training& t, const Moment& m) const = 0;
  /// Prints what the script prints of it.
  virtual std::string save(const Training& t, std::int64_t step) = 0;
};

/// By the file's name. Throws Refused where it is none of those.
std::unique_ptr<Script> script_named(const std::string& file);

}  // namespace trnplan::stand_in
