// The lines of a log, and the numbers and words in them.
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
  /// Name or number of the rank; else empty. It is the name in "[pod/NAME/CONTAINER] " (kubectl logs
  /// --prefix), the number in "0: " (srun --label), "[default7]:" or "[rank7]:" (torchrun), and all of them
  /// in this order where a line has several: "worker-1/7".
  std::string_view rank;
  int number = 0;    ///< counts from 1, by \n, \r\n or \r: one line of a file may be many lines
  bool cut = false;  ///< the bytes end within this line
};

/// The line of a log. `clean` holds its text where it had colours or several labels; `text` and `rank` point
/// into it or into `raw`.
/// Of a line longer than 64 KiB only the start is kept, except that a line that starts with '{' is kept
/// whole: it may be a report in JSON.
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

/// Replaces `clean` by `text` without terminal escapes (ESC [ parameters letter).
void copy_without_escapes(std::string_view text, std::string& clean);

/// True for space, tab, vertical tab and form feed.
bool blank(char c);

struct Word {
  std::string_view text;
  int column = 1;
};
/// The first words of a line, at most `most` of them.
std::vector<Word> words_of(std::string_view line, std::size_t most);

/// `text` without blanks at its ends.
std::string_view trimmed(std::string_view text);

/// The finite number that makes up all of `text`; else nullopt. A leading '+' is not part of a number.
std::optional<double> number_of(std::string_view text);
/// The whole number of at least 0 that makes up all of `text`; else nullopt.
std::optional<std::int64_t> whole_number_of(std::string_view text);

/// A position in a line that moves from left to right.
class Scan {
 public:
  explicit Scan(std::string_view text) : rest_(text) {}

  /// Goes behind the first `word`. Returns false, and does not move, when there is none.
  bool past(std::string_view word);
  /// Goes on by so many bytes, at most to the end.
  void skip(std::size_t count);
  /// Skips blanks, then takes `word` if it comes next.
  bool take(std::string_view word);
  /// Skips blanks, then takes a finite number if one comes next. "nan", "inf" and numbers beyond a double do
  /// not count.
  std::optional<double> number();
  std::optional<std::int64_t> whole();
  std::string_view rest() const { return rest_; }

 private:
  void skip_blanks();
  std::string_view rest_;
};

/// Seconds of "MM:SS", "H:MM:SS" with any number of hours, or "D day(s), H:MM:SS". The seconds may have a
/// fraction. Other texts give nullopt.
std::optional<double> clock_seconds(std::string_view text);

/// Seconds since 1970 of a C asctime such as "Thu Sep 29 22:30:10 2022", if `scan` comes to one next. An
/// asctime names no time zone; this reads it as UTC.
std::optional<double> asctime_seconds(Scan& scan);

struct CalendarTime {
  double seconds = 0;  ///< since 1970, cut to whole ticks
  double tick = 1;     ///< s, by the digits that are printed
};
/// The time of "2026-08-21 10:15:30", "... 10:15:30,123" or "... 10:15:30.123456", if `scan` comes to one next; read as
/// UTC.
std::optional<CalendarTime> calendar_time(Scan& scan);

}  // namespace trnplan
