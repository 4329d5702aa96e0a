// What a script of bash would start, told from its text alone: nothing is run, and no file or environment is looked at.
//
// Followed are assignments (NAME=value, NAME+=value, arrays, declare, export, ": ${NAME:=value}"), "$NAME", "${NAME}",
// "${NAME[@]}", "${#NAME[@]}", a default behind ":-", "-", ":=", "=" or ":+", arithmetic of whole numbers, quotes, lines that
// go on, and if, case, && and || whose conditions compare what is known. A loop's body is taken once, a function's where it
// stands. "exit" ends the script, but within a condition or a loop only one with status 0: others are checks of usage. What
// read, let, "((A=1))", "A[0]=1" and the like set is left to the run; of files that are sourced a note says so. What a run alone knows ("$(hostname)", backticks, a variable that nothing sets) stays as it is written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::targets {

struct ShellWord {
  std::string text;
  int line = 0, column = 0;
  bool known = true;  ///< nothing in it is left to the run
};
using ShellCommand = std::vector<ShellWord>;

struct ShellReading {
  std::vector<ShellCommand> commands;  ///< those that run, in their order, expanded
  /// At the end: the value or the items of each variable that the script sets; of one that only stands in front of a command,
  /// that command's.
  std::map<std::string, std::vector<ShellWord>, std::less<>> variables;
  std::vector<std::string>
      taken;  ///< names of the environment that was given, as far as the script reads them
  /// Conditions that a run alone decides, and loops: "line 12: ...", a sentence each.
  std::vector<std::string> notes;
};

/// Values of the environment that the script is started in, by name.
using ShellEnvironment = std::map<std::string, std::string, std::less<>>;

/// Throws InputError where it expands to more than 8 MiB, or nests deeper than 64. Cost: linear in the text and in what it
/// expands to.
[[nodiscard]] ShellReading follow_shell(std::string_view text, const std::string& name,
                                        const ShellEnvironment& environment = {});

}  // namespace trnplan::targets
