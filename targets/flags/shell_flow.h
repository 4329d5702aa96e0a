// Control flow of a bash script: its compound commands, and commands that depend on the result of another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/flags/shell_conditions.h"
#include "targets/flags/shell_source.h"

namespace trnplan::targets {

class ShellFlow {
 public:
  enum class Kind { when, loop, choice, group };
  struct Frame {
    Kind kind = Kind::group;
    bool before = true;        ///< the code around it runs
    bool enters = true;        ///< the compound command runs
    bool taken = false;        ///< one of its branches was chosen
    bool until = false;        ///< a loop of until
    bool patterns = false;     ///< of a choice: patterns come next
    std::optional<bool> runs;  ///< of a loop over words: there are some
    ShellWord word;            ///< of a choice: the word that it compares
    char closes = '\0';        ///< of a group: its last character
  };

  /// Requires: both outlive it. `name` is for faults.
  ShellFlow(const ShellSource& source, const std::string& name) : source_(source), name_(name) {}

  /// True if the next command runs, as far as the text shows.
  [[nodiscard]] bool runs() const { return active_ && chained_; }
  [[nodiscard]] bool active() const { return active_; }
  [[nodiscard]] bool outside() const { return frames_.empty(); }
  /// Innermost frame if it is of that kind; else nullptr.
  [[nodiscard]] Frame* top(Kind kind);

  /// Records how a command ended. `tested`: it was a condition.
  void settle(ShellTruth holds, bool tested);
  void invert() { inverts_ = true; }
  /// Handles "&&" or "||": the result so far decides whether the next command runs.
  void chain(bool conjunction);
  void end_list();

  /// Opens a frame. Throws InputError if they nest too deep.
  Frame& push(Kind kind);
  void pop();
  void close_group(char with);

  // Parts of if and while.
  void begin_condition();
  void then(std::size_t at);
  void otherwise(bool last);
  void loop_body(std::size_t at);
  // Parts of case. Requires: the innermost frame is one.
  void begin_patterns();
  void choose(ShellTruth any);

  /// Adds a note "line 12: ...". Only the first notes are kept.
  void note(std::size_t at, const std::string& text);
  [[nodiscard]] std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  const ShellSource& source_;
  const std::string& name_;
  std::vector<Frame> frames_;
  std::vector<std::string> notes_;
  bool active_ = true, chained_ = true, inverts_ = false;
  ShellTruth last_ = ShellTruth::yes;
  bool tested_ = false;
};

}  // namespace trnplan::targets
