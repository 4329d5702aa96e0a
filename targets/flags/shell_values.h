// Variables of a bash script, and the expansion of its words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "targets/flags/shell_follower.h"

namespace trnplan::targets {

struct ShellVariable {
  std::vector<ShellWord> items;  ///< one item unless it is an array
  bool array = false;
};

class ShellValues {
 public:
  ShellValues(std::string name, const ShellEnvironment& environment)
      : name_(std::move(name)), environment_(environment) {}

  /// Options of an expansion.
  struct Way {
    bool splits = true;           ///< at blanks outside quotes
    bool unset_is_empty = false;  ///< else an unset variable stays as written
  };
  /// Words that `word` expands to; `at` is its place. Throws InputError if the script has expanded too much
  /// in total.
  std::vector<ShellWord> expanded(std::string_view word, const ShellWord& at, Way way);
  /// Expansion of a whole text, unsplit.
  ShellWord joined(std::string_view word, const ShellWord& at, bool unset_is_empty);

  void set(std::string_view name, ShellVariable value) { variables_[std::string(name)] = std::move(value); }
  /// Appends as NAME+=value and NAME+=(items) do.
  void append(std::string_view name, ShellVariable value);
  void unset(std::string_view name);

  /// Value of a whole-number expression with names of variables; nullopt if one of them is unknown, or if it
  /// is not such an expression.
  std::optional<std::int64_t> arithmetic(std::string_view expression, const ShellWord& at);

  const std::map<std::string, ShellVariable, std::less<>>& all() const { return variables_; }
  /// Names of the environment that were read.
  std::vector<std::string> taken() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : taken_) names.push_back(name);
    return names;
  }
  /// Value of a script's variable or of the environment; nullptr if nothing sets it.
  const ShellVariable* find(std::string_view name);

 private:
  struct Fields;
  void expand(Fields& f, std::string_view text, bool quoted, int depth);
  std::size_t dollar(Fields& f, std::string_view text, std::size_t at, bool quoted, int depth);
  void parameter(Fields& f, std::string_view inner, std::string_view source, bool quoted, int depth);
  void put(Fields& f, const ShellVariable& v, bool all, bool joins, bool quoted);
  void unknown(Fields& f, std::string_view source);
  void add(Fields& f, std::string_view text);
  void count(std::size_t bytes);

  std::string name_;
  const ShellEnvironment& environment_;
  std::map<std::string, ShellVariable, std::less<>> variables_;
  std::map<std::string, ShellVariable, std::less<>> taken_;  ///< of the environment, once read
  std::size_t bytes_ = 0;
};

}  // namespace trnplan::targets
