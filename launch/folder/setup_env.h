// What a setup_env.sh sets, read without running it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trnplan::launch {

/// What a variable holds when the file was sourced; nullopt: only running it would tell.
struct SetupValue {
  std::optional<std::string> text;
  int line = 0;  ///< of the assignment
};

struct SetupEnv {
  struct Assignment {
    std::string name;
    int line = 0;
  };
  std::map<std::string, SetupValue> values;
  std::vector<Assignment> assignments;  ///< of lines that were read, in their order; `export NAME` too
  std::vector<int> unread;              ///< lines that are no plain assignments: what they do is not known
};

/// A variable from outside; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// Assignments NAME=WORD, also after `export`, whose words hold text, quotes, $NAME, ${NAME}, ${NAME-WORD}
/// and ${NAME:-WORD} of names assigned before or of `environment`. A word with anything else that bash would
/// expand (commands, patterns, arithmetic, ~) is not known, nor is a variable that an unread line names.
/// A command in $( ) whose end is not sure, for the quotes and comments in it, makes
/// its line unread. Nothing is run or opened. Cost: linear in the text.
SetupEnv read_setup_env(const std::string& text, const Environment& environment);

}  // namespace trnplan::launch
