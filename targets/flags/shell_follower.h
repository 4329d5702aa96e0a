// Commands that a bash script would start, found from its text alone. Nothing is run, and no file or
// environment is read.
//
// It follows assignments (NAME=value, NAME+=value, arrays, declare, export, ": ${NAME:=value}"), "$NAME",
// "${NAME}", "${NAME[@]}", "${#NAME[@]}", a default after ":-", "-", ":=", "=" or ":+", arithmetic of whole
// numbers, quotes, continued lines, and if, case, && and || with conditions on known values. It takes the
// body of a loop once, and the body of a function where it is defined. "exit" ends the script; inside a
// condition or a loop only "exit 0" does, since other statuses are checks of usage. Values set by read, let,
// "((A=1))", "A[0]=1" and the like are left to the run. A note names each file that is sourced. Text that
// only a run can expand ("$(hostname)", backticks, a variable that nothing sets) stays as written.
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
  bool known = true;  ///< no part of it is left to the run
};
using ShellCommand = std::vector<ShellWord>;

struct ShellReading {
  std::vector<ShellCommand> commands;  ///< those that run, in order, expanded
  /// Value or items of each variable at the end of the script. For a variable that is only set in front of a
  /// command, the value for that command.
  std::map<std::string, std::vector<ShellWord>, std::less<>> variables;
  /// Names of the given environment that the script reads.
  std::vector<std::string> taken;
  /// One sentence ("line 12: ...") per loop, and per condition that only a run decides.
  std::vector<std::string> notes;
};

/// Values of the environment in which the script starts, by name.
using ShellEnvironment = std::map<std::string, std::string, std::less<>>;

/// Follows a script. Throws InputError if it expands to more than 8 MiB or nests deeper than 64. Cost: linear
/// in the text and in its expansion.
[[nodiscard]] ShellReading follow_shell(std::string_view text, const std::string& name,
                                        const ShellEnvironment& environment = {});

}  // namespace trnplan::targets
