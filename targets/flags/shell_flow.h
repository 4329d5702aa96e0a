// Which commands of a script of bash run: its compound commands, and what hangs on the result of another.
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
    bool before = true;        ///< what was run outside
    bool enters = true;        ///< it is run itself
    bool taken = false;        ///< of its branches one was
    bool until = false;        ///< of a loop
    bool patterns = false;     ///< of a choice: what comes next are patterns
    std::optional<bool> runs;  ///< of a loop over words
    ShellWord word;            ///< of a choice
    char closes = '\0';        ///< of a group
  };

  /// Both must outlive it; `name` stands in faults.
  ShellFlow(const ShellSource& source, const std::string& name) : source_(source), name_(name) {}

  /// What comes next is run, as far as the text tells.
  [[nodiscard]] bool runs() const { return active_ && chained_; }
  [[nodiscard]] bool active() const { return active_; }
  [[nodiscard]] bool outside() const { return frames_.empty(); }
  /// The innermost, where it is of that kind; nullptr.
  [[nodiscard]] Frame* top(Kind kind);

  /// How a command ended; `tested`: it was there to be asked.
  void settle(ShellTruth holds, bool tested);
  void invert() { inverts_ = true; }
  /// A command that follows "&&" or "||" is run by what came before.
  void chain(bool conjunction);
  void end_list();

  /// Throws InputError where they are nested too deep.
  Frame& push(Kind kind);
  void pop();
  void close_group(char with);

  // Of if and while.
  void begin_condition();
  void then(std::size_t at);
  void otherwise(bool last);
  void loop_body(std::size_t at);
  // Of case, whose innermost frame it must be.
  void begin_patterns();
  void choose(ShellTruth any);

  /// "line 12: ...", of which the first are kept.
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
