// The lines of a log, and numbers and words in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan {

/// One line without terminal colours and without the label of its rank.
struct LogLine {
  std::string_view text;  ///< valid until the next line is read
  /// Of "[pod/NAME/CONTAINER] " (kubectl logs --prefix) the name, of "0: " (srun --label) and of "[default7]:" or
  /// "[rank7]:" (torchrun) the number; of several of them, in this order, all: "worker-1/7". Else empty.
  std::string_view rank;
  int number = 0;    ///< counts from 1; ends at \n, \r\n or \r, so one line of a file may be many
  bool cut = false;  ///< the text ends within it
};

/// The line of a log; `clean` holds its text where it had colours or several labels, and `text` and `rank` point
/// into it or into `raw`.
/// Of a line longer than 64 KiB only the start is given, except that one starting with '{' is given as it is:
/// it may be a report in JSON.
LogLine log_line(std::string_view raw, int number, bool cut, std::string& clean);

/// Reads a text line by line in time and memory linear in it.
class LogLines {
 public:
  explicit LogLines(std::string_view text) : rest_(text) {}
  bool next();
  const LogLine& line() const { return line_; }

 private:
  std::string_view rest_;
  std::string clean_;
  LogLine line_;
};

/// `text` without terminal escapes (ESC [ parameters letter), in place of what `clean` holds.
void copy_without_escapes(std::string_view text, std::string& clean);

/// Space, tab, vertical tab or form feed.
bool blank(char c);

struct Word {
  std::string_view text;
  int column = 1;
};
/// The first words of a line, at most `most`.
std::vector<Word> words_of(std::string_view line, std::size_t most);

/// `text` without blanks at its ends.
std::string_view trimmed(std::string_view text);

/// The finite number that is all of `text`; nullopt else. A leading '+' is no part of a number.
std::optional<double> number_of(std::string_view text);
/// The same for a whole number of at least 0.
std::optional<std::int64_t> whole_number_of(std::string_view text);

/// Walks over a line from left to right.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  /// Goes behind the first `word`; false, and unreachable, when there is none.
  bool past(std::string_view word);
  /// Skips blanks, then takes `word` when it comes next.
  bool take(std::string_view word);
  /// Skips blanks, then takes a finite number when one comes next. "nan", "inf" and numbers beyond a double
  /// are none.
  std::optional<double> number();
  std::optional<std::int64_t> whole();
  std::string_view rest() const { return rest_; }

 private:
  void skip_blanks();
  std::string_view rest_;
};

/// Seconds of "MM:SS", "H:MM:SS" with any number of hours, "D day(s), H:MM:SS", the seconds perhaps with a
/// fraction; nullopt for other texts.
std::optional<double> clock_seconds(std::string_view text);

/// Seconds since 1970 of a C asctime such as "Thu Sep 29 22:30:10 2022" (it names no zone; UTC is taken) that
/// `scan` comes to next.
std::optional<double> asctime_seconds(Scan& scan);

}  // namespace trnplan
