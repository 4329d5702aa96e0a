#include "logs/nccom/nccom_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "logs/nccom/bounds.h"
#include "text/log_lines.h"
#include "text/parse.h"
#include "text/warnings.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kCommandLines = 64;
constexpr std::size_t kTables = 1000;

/// Number of words that srun --label puts in front: "0:".
std::ptrdiff_t label_words(const std::vector<Word>& words) {
  if (words.empty() || words[0].text.size() > 8 || !words[0].text.ends_with(':')) return 0;
  return parse_whole(words[0].text.substr(0, words[0].text.size() - 1)) ? 1 : 0;
}

bool is_number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return end == word.data() + word.size() && error != std::errc::invalid_argument;
}

}  // namespace

NccomLines::NccomLines(std::string name, NccomCommand fallback)
    : name_(std::move(name)), fallback_(std::move(fallback)), command_(fallback_) {}

void NccomLines::read(const RawLine& line) {
  const bool telling = open_ || !waiting_.empty() || line.text.find(kNccomTest) != std::string_view::npos ||
                       line.text.find(kNccomSize) != std::string_view::npos ||
                       line.text.find('\x1b') != std::string_view::npos;
  if (!telling) return;  // most lines of most logs do not
  Line& next = waiting_.emplace_back();
  copy_without_escapes(line.text, next.text);
  next.number = line.number;
  next.ended = line.ended;
  take_up(false);
}

std::vector<NccomTable> NccomLines::finish() {
  take_up(true);
  end_table();
  return std::move(tables_);
}

/// True if the next line is there, and those on which a command continues.
bool NccomLines::complete() const {
  if (waiting_.size() < 2) return false;
  if (waiting_.front().text.find(kNccomTest) == std::string::npos) return true;
  std::size_t size = waiting_.front().text.size();
  bool goes_on = waiting_.front().text.ends_with('\\');
  for (std::size_t i = 1; i <= kCommandLines && goes_on && size < kNccomCommandBytes; ++i) {
    if (i == waiting_.size()) return false;
    size += waiting_[i].text.size();
    goes_on = waiting_[i].text.ends_with('\\');
  }
  return true;
}

void NccomLines::take_up(bool all) {
  while (!waiting_.empty() && (all || complete())) {
    now_ = std::move(waiting_.front());
    waiting_.pop_front();
    last_ = waiting_.empty();
    if (!read_command()) read_line();
  }
}

void NccomLines::note(int column, std::string_view key, std::string problem, std::string fix) {
  notes_.add({name_, now_.number, column}, key, std::move(problem), std::move(fix));
}

bool NccomLines::read_command() {
  if (now_.text.find(kNccomTest) == std::string::npos) return false;
  std::string whole = now_.text;
  for (std::size_t i = 0; i < kCommandLines && whole.ends_with('\\') && whole.size() < kNccomCommandBytes;
       ++i) {
    if (i == waiting_.size()) break;
    whole.back() = ' ';
    whole += waiting_[i].text;
  }
  auto command = parse_nccom_command(whole);
  if (!command) return false;
  end_table();
  command_ = std::move(*command);
  if (!command_.ranks) command_.ranks = fallback_.ranks;
  if (!command_.nodes) command_.nodes = fallback_.nodes;
  command_line_ = now_.number;
  command_used_ = false;
  return true;
}

void NccomLines::read_line() {
  std::vector<Word> words = words_of(now_.text, kCellsMost + 1);
  words.erase(words.begin(), words.begin() + label_words(words));
  if (words.empty()) return;
  const std::string_view line = now_.text;
  if (words[0].text == kNccomSize) return start_table(words);
  if (!open_) return;
  if (words[0].text == "Avg" && line.find("bandwidth") != std::string_view::npos) return end_table();
  if (line.find("errors found") != std::string_view::npos) {
    // Each failed size is one of them and is left out anyway; nobody knows which rows the others are.
    const auto errors = parse_whole(std::string(words[0].text));
    doubtful_ = !errors || *errors > failures_;
    if (doubtful_) {
      note(words[0].column, "",
           "nccom-test reports: " +
               printable(line.substr(static_cast<std::size_t>(words[0].column) - 1), 120) +
               "; no row of this table is used",
           "run it again");
    }
    return end_table();
  }
  if (!headings_.empty() && is_number(words[0].text)) read_row(words);
}

void NccomLines::read_row(const std::vector<Word>& words) {
  const std::string_view line = now_.text;
  if (const auto failure = line.find("Failure"); failure != std::string_view::npos) {
    ++failures_;
    return note(
        words[0].column, kNccomSize,
        fmt::format("size {}: {}", printable(words[0].text, 40), printable(line.substr(failure), 160)),
        "read the log that it names and run nccom-test again");
  }
  if (words.size() != headings_.size()) {
    return note(words[0].column, "",
                fmt::format("{} columns where the header has {}{}; the row is left out", words.size(),
                            headings_.size(), last_ ? ", and the output ends" : ""),
                "give the whole output of nccom-test");
  }
  if (!now_.ended) {
    note(words.back().column, headings_.back(), "the output ends within this line; its last word may be cut",
         "give the whole output of nccom-test");
  }
  if (++row_count_ > kRowsMost) too_many("rows", kRowsMost, words[0].column);
  NccomRecord record{{}, now_.number, words[0].column};
  for (std::size_t i = 0; i < words.size(); ++i) {
    record.cells.push_back({headings_[i], std::string(words[i].text), now_.number, words[i].column});
  }
  records_.push_back(std::move(record));
}

void NccomLines::start_table(const std::vector<Word>& words) {
  end_table();
  if (tables_.size() == kTables) too_many("tables", kTables, words[0].column);
  open_ = true;
  header_at_ = {name_, now_.number, words[0].column};
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
         fmt::format("no command above this table; that of line {} is used", command_line_),
         "keep each command with its table");
  }
  command_used_ = true;
}

void NccomLines::end_table() {
  if (!open_) return;
  NccomTable table = nccom_table(command_, records_, name_);
  table.at = header_at_;
  if (doubtful_)
    for (NccomRow& row : table.rows) row.contradicts = true;
  std::vector<Diagnostic> warnings = notes_.take();
  std::move(table.warnings.begin(), table.warnings.end(), std::back_inserter(warnings));
  std::stable_sort(warnings.begin(), warnings.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.at.line < b.at.line; });
  table.warnings = std::move(warnings);
  tables_.push_back(std::move(table));
  open_ = doubtful_ = false;
  failures_ = 0;
  headings_.clear();
  records_.clear();
}

void NccomLines::too_many(const char* what, std::size_t most, int column) const {
  throw InputError(
      {{name_, now_.number, column}, "", fmt::format("more than {} {}", most, what), "split the file"});
}

std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback) {
  NccomLines reader(name, fallback);
  LineSplitter lines;
  const auto read = [&](const RawLine& line) { reader.read(line); };
  lines.feed(text, read);
  lines.finish(read);
  std::vector<NccomTable> tables = reader.finish();
  if (tables.empty()) throw no_nccom_table(name);
  return tables;
}

bool looks_like_nccom_test(std::string_view text) {
  return text.find(kNccomSize) != std::string_view::npos;
}

InputError no_nccom_table(const std::string& name) {
  return InputError({{name, 0, 0},
                     "",
                     "no nccom-test table: no line starts with size(B)",
                     "give the output of nccom-test, or its JSON report"});
}

}  // namespace trnplan::logs
