#include "calibrate/nccom_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "calibrate/log_lines.h"
#include "calibrate/warnings.h"
#include "units/parse.h"

namespace trnplan::calibrate {

namespace {

constexpr int kCommandLines = 64;
constexpr std::size_t kCells = 64;  ///< of a line; the widest table has some 20 columns
constexpr std::size_t kTables = 1000;
constexpr std::size_t kRows = 20'000;

/// The lines of a text one after the other; they end at \n, \r\n or \r.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    copy_without_escapes(rest_.substr(0, end), line);
    ended = end < rest_.size();
    rest_.remove_prefix(std::min(rest_.size(), end + (rest_.substr(end, 2) == "\r\n" ? 2 : 1)));
    ++number;
    return true;
  }
  bool last() const { return rest_.empty(); }

  std::string line;
  int number = 0;
  bool ended = false;  ///< by a line end, not by the end of the text

 private:
  std::string_view rest_;
};

/// Words that srun --label puts in front: "0:".
std::ptrdiff_t label_words(const std::vector<Word>& words) {
  if (words.empty() || words[0].text.size() > 8 || !words[0].text.ends_with(':')) return 0;
  return parse_whole(words[0].text.substr(0, words[0].text.size() - 1)) ? 1 : 0;
}

bool is_number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return end == word.data() + word.size() && error != std::errc::invalid_argument;
}

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& name, const NccomCommand& fallback)
      : lines_(text), name_(name), fallback_(fallback), command_(fallback) {}

  std::vector<NccomTable> read() {
    while (lines_.next()) {
      if (!read_command()) read_line();
    }
    end_table();
    if (tables_.empty()) {
      throw InputError({{name_, 0, 0},
                        "",
                        "no nccom-test table: no line starts with size(B)",
                        "give what nccom-test prints, or its JSON report"});
    }
    return std::move(tables_);
  }

 private:
  void note(int column, std::string_view key, std::string problem, std::string fix) {
    notes_.add({name_, lines_.number, column}, key, std::move(problem), std::move(fix));
  }

  bool read_command() {
    if (lines_.line.find(kNccomTest) == std::string::npos) return false;
    std::string whole = lines_.line;
    Lines following = lines_;
    for (int i = 0; i < kCommandLines && whole.ends_with('\\') && whole.size() < kNccomCommandBytes; ++i) {
      if (!following.next()) break;
      whole.back() = ' ';
      whole += following.line;
    }
    auto command = parse_nccom_command(whole);
    if (!command) return false;
    end_table();
    command_ = std::move(*command);
    if (!command_.ranks) command_.ranks = fallback_.ranks;
    if (!command_.nodes) command_.nodes = fallback_.nodes;
    command_line_ = lines_.number;
    command_used_ = false;
    return true;
  }

  void read_line() {
    std::vector<Word> words = words_of(lines_.line, kCells + 1);
    words.erase(words.begin(), words.begin() + label_words(words));
    if (words.empty()) return;
    const std::string_view line = lines_.line;
    if (words[0].text == kNccomSize) return start_table(words);
    if (!open_) return;
    if (words[0].text == "Avg" && line.find("bandwidth") != std::string_view::npos) return end_table();
    if (line.find("errors found") != std::string_view::npos) {
      if (!failed_) {
        note(words[0].column, "",
             "nccom-test reports: " +
                 printable(line.substr(static_cast<std::size_t>(words[0].column) - 1), 120),
             "run it again before using the table");
      }
      return end_table();
    }
    if (!headings_.empty() && is_number(words[0].text)) read_row(words);
  }

  void read_row(const std::vector<Word>& words) {
    const std::string_view line = lines_.line;
    if (const auto failure = line.find("Failure"); failure != std::string_view::npos) {
      failed_ = true;
      return note(
          words[0].column, kNccomSize,
          fmt::format("size {}: {}", printable(words[0].text, 40), printable(line.substr(failure), 160)),
          "read the log it names and run nccom-test again");
    }
    if (words.size() != headings_.size()) {
      return note(words[0].column, "",
                  fmt::format("{} columns where the header has {}{}; the row is left out", words.size(),
                              headings_.size(), lines_.last() ? ", and the output ends" : ""),
                  "give the whole output of nccom-test");
    }
    if (!lines_.ended) {
      note(words.back().column, headings_.back(),
           "the output ends within this line; its last word may be cut",
           "give the whole output of nccom-test");
    }
    if (++row_count_ > kRows) too_many("rows", kRows, words[0].column);
    NccomRecord record{{}, lines_.number, words[0].column};
    for (std::size_t i = 0; i < words.size(); ++i) {
      record.cells.push_back({headings_[i], std::string(words[i].text), lines_.number, words[i].column});
    }
    records_.push_back(std::move(record));
  }

  void start_table(const std::vector<Word>& words) {
    end_table();
    if (tables_.size() == kTables) too_many("tables", kTables, words[0].column);
    open_ = true;
    header_at_ = {name_, lines_.number, words[0].column};
    bool time = false;
    for (const Word& word : words) {
      time |= nccom_statistic(word.text).value_or("std") != "std";
      headings_.emplace_back(word.text);
    }
    if (!time) {
      note(words[0].column, "", "the header has no time in us; the table is left out",
           "give the whole output of nccom-test");
      headings_.clear();
    }
    if (command_used_ && command_line_ > 0) {
      note(words[0].column, "",
           fmt::format("no command above this table; that of line {} is taken", command_line_),
           "keep each command with its table");
    }
    command_used_ = true;
  }

  void end_table() {
    if (!open_) return;
    NccomTable table = nccom_table(command_, records_, name_);
    table.at = header_at_;
    std::vector<Diagnostic> warnings = notes_.take();
    std::move(table.warnings.begin(), table.warnings.end(), std::back_inserter(warnings));
    std::stable_sort(warnings.begin(), warnings.end(),
                     [](const Diagnostic& a, const Diagnostic& b) { return a.at.line < b.at.line; });
    table.warnings = std::move(warnings);
    tables_.push_back(std::move(table));
    open_ = failed_ = false;
    headings_.clear();
    records_.clear();
  }

  [[noreturn]] void too_many(const char* what, std::size_t most, int column) const {
    throw InputError(
        {{name_, lines_.number, column}, "", fmt::format("more than {} {}", most, what), "split the file"});
  }

  Lines lines_;
  const std::string& name_;
  std::vector<NccomTable> tables_;
  std::size_t row_count_ = 0;
  const NccomCommand& fallback_;
  NccomCommand command_;
  int command_line_ = 0;
  bool command_used_ = false;  ///< by a table above
  // The table being read.
  bool open_ = false, failed_ = false;
  SourcePos header_at_;
  std::vector<std::string> headings_;
  std::vector<NccomRecord> records_;
  Warnings notes_;
};

}  // namespace

std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback) {
  return TextReader(text, name, fallback).read();
}

}  // namespace trnplan::calibrate
