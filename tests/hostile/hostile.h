// Tables of inputs that an attacker, a broken disk or a tired person could give, with the required answer to
// each.
#pragma once

#include <string>
#include <vector>

namespace trnplan::hostile {

inline constexpr const char* kWhole = "\1whole";    ///< `to` is the whole file
inline constexpr const char* kCut = "\1cut";        ///< `to` is the number of bytes to keep
inline constexpr const char* kAgain = "\1again";    ///< repeats the last line
inline constexpr const char* kAppend = "\1append";  ///< appends `to`

/// A file that is sound except in one place.
struct Edit {
  const char* kind;  ///< of kKinds in hostile_test.cpp: the sound file, and the command that reads it
  std::string from;  ///< text whose first occurrence is replaced, or one of the words above
  std::string to;
  std::string says;  ///< expected on standard error, or in the findings of `check`
  int code = 2;
};

/// A command line with sound files: job.yaml, nxdt.yaml, c.csv, grid.yaml, train.log, layouts.csv.
struct Command {
  std::vector<std::string> arguments;
  std::string says;
  std::string catalog = {};  ///< TRNPLAN_CATALOG; empty = that of the source folder
};

inline std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::vector<Edit> job_rows();
std::vector<Edit> config_rows();
std::vector<Edit> machine_rows();
std::vector<Edit> data_rows();
std::vector<Edit> plan_rows();
std::vector<Edit> run_rows();
std::vector<Edit> scoring_rows();
std::vector<Command> option_rows();
std::vector<Command> path_rows();
std::vector<Command> word_rows();
std::vector<Command> report_rows();
std::vector<Command> mixed_rows();

}  // namespace trnplan::hostile
