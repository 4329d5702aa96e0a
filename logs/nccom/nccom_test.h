// Output of nccom-test, the collective benchmark of the Neuron SDK.
//
// Formats: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/nccom-test.rst. Values that a table does
// not state (operation, ranks, nodes) are in the command line above it, if at all.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "logs/nccom/nccom_table.h"
#include "text/line_splitter.h"
#include "text/log_lines.h"
#include "text/warnings.h"

namespace trnplan::logs {

/// Reads tables from consecutive lines. A line is processed once the lines that it needs are there: the next
/// one, and those on which a command continues.
class NccomLines {
 public:
  explicit NccomLines(std::string name, NccomCommand fallback = {});
  /// Throws InputError as parse_nccom_test, except for a missing table.
  void read(const RawLine& line);
  /// Returns the tables; none if no line starts with size(B). No line may follow.
  std::vector<NccomTable> finish();

 private:
  struct Line {
    std::string text;
    int number = 0;
    bool ended = true;
  };

  void take_up(bool all);
  bool complete() const;
  bool read_command();
  void read_line();
  void read_row(const std::vector<Word>& words);
  void start_table(const std::vector<Word>& words);
  void end_table();
  void note(int column, std::string_view key, std::string problem, std::string fix);
  [[noreturn]] void too_many(const char* what, std::size_t most, int column) const;

  std::string name_;
  NccomCommand fallback_, command_;
  std::deque<Line> waiting_;
  Line now_;
  bool last_ = false;  ///< no line follows now_
  std::vector<NccomTable> tables_;
  std::size_t row_count_ = 0;
  int command_line_ = 0;
  bool command_used_ = false;  ///< by a table above
  // The table being read.
  bool open_ = false;
  bool doubtful_ = false;  ///< nccom-test itself reports errors in it
  int failures_ = 0;       ///< number of rows that say so
  SourcePos header_at_;
  std::vector<std::string> headings_;
  std::vector<NccomRecord> records_;
  Warnings notes_;
};

/// True if a line of the text may begin a table.
bool looks_like_nccom_test(std::string_view text);

/// The error for a text without a table.
InputError no_nccom_table(const std::string& name);

/// All tables in a text: with old or new headings, among prompts, log lines and Slurm output (also labelled
/// by srun --label), with tabs, CRLF, CR, terminal colours. `name` is used in messages. Lines end at LF, CRLF
/// or CR. A table without a command takes that of the table before it, with a warning; `fallback` is that of
/// the first one, and fills in values that a command does not state. Time and memory are linear in the text.
/// Throws InputError if there is no table or there are more than 1000 (or 20,000 rows).
std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback = {});

}  // namespace trnplan::logs
