// Text of a bash script with a position in it: words as they are written, and the parts that are no command.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "targets/flags/shell_follower.h"

namespace trnplan::targets {

struct ShellSlice {
  std::size_t from = 0, to = 0;
};
/// Word as it is written; NAME=(items) is one word.
struct ShellRawWord {
  ShellSlice all;
  bool array = false;
  std::vector<ShellSlice> items;
};

/// Length of NAME= or NAME+= at the start; 0 if it is no assignment.
[[nodiscard]] std::size_t shell_assigns(std::string_view word);

class ShellSource {
 public:
  explicit ShellSource(std::string_view text);

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view slice(ShellSlice s) const { return text_.substr(s.from, s.to - s.from); }
  /// Place of a byte, as a word without text.
  [[nodiscard]] ShellWord place(std::size_t at) const;

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  /// Next character. Requires: not at_end().
  [[nodiscard]] char next() const { return text_[at_]; }
  [[nodiscard]] bool next_is(std::string_view words) const { return text_.substr(at_).starts_with(words); }
  void go(std::size_t to) { at_ = to; }
  void pass(std::size_t bytes) { at_ += bytes; }

  // Each skips its kind of text if that comes next.
  void skip_blanks();  ///< and escaped line ends
  void skip_space();   ///< blanks, comments and line ends
  bool comment();
  /// Lines of here-documents, which begin after the line that names them.
  void documents();
  /// "()" of a function; its body comes next.
  bool parentheses();

  ShellSlice word();
  /// Words of a command, up to its end, without redirections; none if they name a function.
  std::vector<ShellRawWord> command_words();

 private:
  ShellRawWord raw_word();
  bool redirection();
  bool process(std::size_t at);

  std::string_view text_;
  std::vector<std::size_t> lines_;  ///< start of each
  std::size_t at_ = 0;
  std::vector<std::string> ends_;  ///< end marks of here-documents that begin with the next line
};

}  // namespace trnplan::targets
