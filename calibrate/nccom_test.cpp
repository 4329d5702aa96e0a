#include "calibrate/nccom_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "calibrate/warnings.h"
#include "models/collective_timing.h"
#include "units/parse.h"

namespace trnplan::calibrate {

namespace {

constexpr std::size_t kCommandBytes = 16384;
constexpr int kCommandLines = 64;
constexpr std::size_t kCells = 64;  ///< of a line; the widest table has some 20 columns
constexpr std::size_t kTables = 1000;
constexpr std::size_t kRows = 20'000;
constexpr double kBytesMost = 0x1p50;
constexpr double kSecondsMost = 86400;
constexpr int kRanksMost = 1'000'000;

constexpr std::string_view kProgram = "nccom-test";
constexpr std::string_view kSize = "size(B)", kCount = "count(elems)", kType = "type", kTime = "time(us)",
                           kAlgbw = "algbw(GB/s)", kBusbw = "busbw(GB/s)", kAlgorithm = "algorithm";

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

struct Word {
  std::string_view text;
  int column = 1;
};

std::vector<Word> words_of(std::string_view line, std::size_t most) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size() && words.size() < most;) {
    while (i < line.size() && blank(line[i])) ++i;
    const std::size_t start = i;
    while (i < line.size() && !blank(line[i])) ++i;
    if (i > start) words.push_back({line.substr(start, i - start), static_cast<int>(start) + 1});
  }
  return words;
}

/// A number and the unit of its last printed digit.
struct Printed {
  double value = 0;
  double ulp = 0;
};

std::optional<Printed> printed(std::string_view text) {
  Printed p;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), p.value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(p.value))
    return std::nullopt;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), e);
  int digits = static_cast<int>(std::min<std::size_t>(point < e ? e - point - 1 : 0, 400));
  int exponent = 0;
  if (e < text.size()) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
  }
  p.ulp = std::pow(10.0, exponent - digits);
  return p;
}

/// busbw over algbw; the operations with sizes of their own per rank are counted as the others.
std::optional<double> bus_factor(std::string_view op, std::optional<int> ranks) {
  if (op.ends_with("_v")) op.remove_suffix(2);
  const auto known = models::collective_op(op);
  if (!known) return std::nullopt;
  if (ranks) return models::bus_factor(*known, *ranks);
  const double two = models::bus_factor(*known, 2);
  return two == models::bus_factor(*known, 3) ? std::optional(two) : std::nullopt;  // of any number of ranks
}

/// "avg" of time:avg(us), "avg" of time(us).
std::optional<std::string_view> statistic_of(std::string_view heading) {
  if (heading == kTime) return "avg";
  if (!heading.starts_with("time:") || !heading.ends_with("(us)")) return std::nullopt;
  return heading.substr(5, heading.size() - 9);
}

/// Whether bandwidth and size over time may be the same number before rounding (or cutting) to print.
bool agree(double bytes, const Printed& us, const Printed& bandwidth, double giga) {
  constexpr double slack = 1e-6;
  const double slowest = bytes / ((us.value + us.ulp) * 1e-6) / giga;
  const double shortest = us.value - us.ulp;
  const double fastest =
      shortest > 0 ? bytes / (shortest * 1e-6) / giga : std::numeric_limits<double>::infinity();
  return bandwidth.value + bandwidth.ulp >= slowest * (1 - slack) &&
         bandwidth.value - bandwidth.ulp <= fastest * (1 + slack);
}

/// What a row printed, kept until the whole table is known.
struct PrintedRow {
  NccomRow row;
  std::optional<Printed> us, algbw, busbw;
};

class TableReader {
 public:
  TableReader(const NccomCommand& command, const std::string& name) : command_(command), name_(name) {
    table_.command = command.text;
    table_.ranks = command.ranks;
    table_.nodes = command.nodes;
    table_.op = command.op;
    table_.partners = command.partners;
  }

  NccomTable read(const std::vector<NccomRecord>& records) {
    for (const NccomRecord& record : records) read_row(record);
    decide_giga();
    for (PrintedRow& p : rows_) {
      check(p);
      table_.rows.push_back(std::move(p.row));
    }
    table_.warnings = warnings_.take();
    return std::move(table_);
  }

 private:
  void bad(const NccomRecord::Cell& cell, const char* expected) {
    warnings_.add({name_, cell.line, cell.column}, cell.heading,
                  fmt::format("\"{}\" is not {}; the row is left out", printable(cell.text, 40), expected),
                  "correct or remove the row");
    good_ = false;
  }

  std::optional<Printed> number(const NccomRecord::Cell& cell, double most, const char* expected) {
    const auto p = printed(cell.text);
    if (!p || p->value < 0 || p->value > most) {
      bad(cell, expected);
      return std::nullopt;
    }
    return p;
  }

  void read_row(const NccomRecord& record) {
    PrintedRow p;
    p.row.at = {name_, record.line, record.column};
    good_ = true;
    std::optional<double> average, median, first;
    std::optional<Printed> average_us, median_us, first_us;
    for (const NccomRecord::Cell& cell : record.cells) {
      if (cell.heading == kSize) {
        const auto bytes = number(cell, kBytesMost, "a message size");
        if (bytes && bytes->value == 0) bad(cell, "a message size");
        if (bytes) p.row.bytes = bytes->value;
      } else if (cell.heading == kCount) {
        const auto count = number(cell, kBytesMost, "a number of elements");
        if (count && count->value != std::floor(count->value)) bad(cell, "a number of elements");
        if (count) p.row.count = static_cast<std::int64_t>(count->value);
      } else if (cell.heading == kType) {
        p.row.type = printable(cell.text, 40);
      } else if (cell.heading == kAlgbw) {
        p.algbw = number(cell, 1e9, "a bandwidth");
      } else if (cell.heading == kBusbw) {
        p.busbw = number(cell, 1e9, "a bandwidth");
      } else if (cell.heading == kAlgorithm) {
        p.row.algorithm = printable(cell.text, 40);
      } else if (const auto statistic = statistic_of(cell.heading)) {
        if (table_.time_heading.empty()) table_.time_heading = printable(cell.heading, 40);
        const auto us = number(cell, kSecondsMost * 1e6, "a time");
        if (us && us->value == 0 && *statistic != "std") bad(cell, "a time");
        if (!us) continue;
        p.row.statistics.emplace(printable(*statistic, 40), us->value * 1e-6);
        if (*statistic == "avg") average_us = us;
        if (*statistic == "p50") median_us = us;
        if (!first_us && *statistic != "std") first_us = us;  // a spread is no time
      }
    }
    p.us = average_us ? average_us : median_us ? median_us : first_us;
    if (!good_) return;
    if (p.row.bytes == 0 || !p.us) {
      warnings_.add(p.row.at, p.us ? kSize : "time", "the row lacks it and is left out",
                    "give the output of nccom-test unchanged");
      return;
    }
    p.row.seconds = p.us->value * 1e-6;
    if (!average_us && !median_us) {
      warnings_.add(p.row.at, "time", "neither an average nor a median; the first time printed is taken",
                    "run nccom-test with --stats avg");
    }
    // Bandwidths follow the average.
    if (!average_us) p.us.reset();
    rows_.push_back(std::move(p));
  }

  /// Each row that fits only one of the two units votes for it.
  void decide_giga() {
    int decimal = 0, binary = 0;
    for (const PrintedRow& p : rows_) {
      if (!p.us || !p.algbw) continue;
      const bool fits_decimal = agree(p.row.bytes, *p.us, *p.algbw, 1e9);
      const bool fits_binary = agree(p.row.bytes, *p.us, *p.algbw, 0x1p30);
      decimal += fits_decimal && !fits_binary;
      binary += fits_binary && !fits_decimal;
    }
    if (decimal > binary) table_.printed_giga = 1e9;
    if (binary > decimal) table_.printed_giga = 0x1p30;
  }

  void contradiction(PrintedRow& p, std::string_view key, std::string problem) {
    p.row.contradicts = true;
    warnings_.add(p.row.at, key, std::move(problem),
                  "do not calibrate with this row unless its origin is clear");
  }

  void check(PrintedRow& p) {
    const double giga = table_.printed_giga.value_or(1e9);
    if (p.algbw) p.row.algbw = p.algbw->value * giga;
    if (p.busbw) p.row.busbw = p.busbw->value * giga;
    const auto width = models::element_bytes(p.row.type);
    if (width && p.row.count > 0 && *width * static_cast<double>(p.row.count) != p.row.bytes) {
      contradiction(p, kCount,
                    fmt::format("{} elements of type {} are {} bytes, not {}", p.row.count, p.row.type,
                                *width * static_cast<double>(p.row.count), p.row.bytes));
    }
    if (p.us && p.algbw && !agree(p.row.bytes, *p.us, *p.algbw, giga) &&
        (table_.printed_giga || !agree(p.row.bytes, *p.us, *p.algbw, 0x1p30))) {
      contradiction(p, kAlgbw,
                    fmt::format("{} printed, size over time is {:.4g}", p.algbw->value,
                                p.row.bytes / p.row.seconds / giga));
    }
    const auto factor = command_.several_groups ? std::nullopt : bus_factor(table_.op, table_.ranks);
    if (factor && p.algbw && p.busbw &&
        std::abs(p.busbw->value - *factor * p.algbw->value) >
            (p.busbw->ulp + *factor * p.algbw->ulp) * (1 + 1e-6) + 1e-6 * p.busbw->value) {
      contradiction(
          p, kBusbw,
          fmt::format("{} printed, but algbw {} is {:.4g} on the bus in {} of {} ranks", p.busbw->value,
                      p.algbw->value, *factor * p.algbw->value, table_.op, table_.ranks.value_or(2)));
    }
  }

  const NccomCommand& command_;
  const std::string& name_;
  NccomTable table_;
  Warnings warnings_;
  std::vector<PrintedRow> rows_;
  bool good_ = true;
};

// ---- the text ----

/// Terminal escapes (ESC [ parameters letter) are left out.
std::string without_escapes(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      clean += text[i];
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;
    std::size_t end = i + 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    i = end < text.size() && text[end] >= 0x40 ? end : end - 1;
  }
  return clean;
}

/// The lines of a text one after the other; they end at \n, \r\n or \r.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    line = without_escapes(rest_.substr(0, end));
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
    if (lines_.line.find(kProgram) == std::string::npos) return false;
    std::string whole = lines_.line;
    Lines following = lines_;
    for (int i = 0; i < kCommandLines && whole.ends_with('\\') && whole.size() < kCommandBytes; ++i) {
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
    if (words[0].text == kSize) return start_table(words);
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
          words[0].column, kSize,
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
      time |= statistic_of(word.text).value_or("std") != "std";
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

/// Where the last call of nccom-test starts: the word itself, perhaps with a path or in quotes.
std::size_t program_in(std::string_view line) {
  for (std::size_t at = line.rfind(kProgram); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : line.rfind(kProgram, at - 1)) {
    const std::size_t end = at + kProgram.size();
    const bool starts = at == 0 || blank(line[at - 1]) ||
                        std::string_view("/\"'(`").find(line[at - 1]) != std::string_view::npos;
    if (starts && end < line.size() && blank(line[end])) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view canonical_op(std::string_view name) {
  if (const auto op = models::collective_op(name)) return models::to_string(*op);
  static constexpr std::pair<std::string_view, std::string_view> kOps[] = {{"all_gatherv", "all_gather_v"},
                                                                           {"allgv", "all_gather_v"},
                                                                           {"alltoallv", "all_to_all_v"},
                                                                           {"all_to_allv", "all_to_all_v"}};
  for (const auto& [known, op] : kOps) {
    if (known == name) return op;
  }
  return {};
}

std::optional<NccomCommand> parse_nccom_command(std::string_view line) {
  const std::size_t start = program_in(line);
  if (start == std::string_view::npos) return std::nullopt;
  const char before = start == 0 ? ' ' : line[start - 1];
  line = line.substr(start, kCommandBytes);
  if (before == '"' || before == '\'' || before == '`') line = line.substr(0, line.find(before));
  NccomCommand command;
  bool option = false, hosts = false;
  std::string_view open;  // the option whose value comes next
  for (Word& word : words_of(line, kCommandBytes)) {
    std::string_view text = word.text, value;
    if (text == "|" || text == ";" || text == "&" || text == "&&" ||
        text.find('>') != std::string_view::npos) {
      line = line.substr(0, static_cast<std::size_t>(word.column) - 1);
      break;
    }
    if (text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9')) {
      option = true;
      if (const auto equals = text.find('='); text.starts_with("--") && equals != std::string_view::npos) {
        value = text.substr(equals + 1);
        text = text.substr(0, equals);
      } else if (!text.starts_with("--") && text.size() > 2) {
        value = text.substr(2);
        text = text.substr(0, 2);
      }
      hosts |= text == "-s" || text == "--hosts" || text == "-S" || text == "--slurm";
      const bool groups = text == "--custom-replica-groups" || text == "--data-parallel-dimension";
      command.several_groups |= groups;
      if (groups || text == "--custom-src-target-pairs") command.partners = text;
      open = text;
      if (value.empty()) continue;
    } else {
      value = text;
    }
    const std::string_view of = std::exchange(open, {});
    if (of == "-r" || of == "--nworkers" || of == "-N" || of == "--nnodes") {
      auto number = parse_whole(value);
      if (number && (*number < 1 || *number > kRanksMost)) number.reset();
      (of == "-r" || of == "--nworkers" ? command.ranks : command.nodes) = number;
      if (of == "-N" || of == "--nnodes") hosts = true;
    } else if (command.op.empty() && !of.ends_with("-file") && !of.starts_with("--custom")) {
      command.op = canonical_op(value);
    }
  }
  if (!option || command.op.empty()) return std::nullopt;
  if (!hosts) command.nodes = 1;
  command.text = line.substr(0, line.find_last_not_of(" \t") + 1);
  return command;
}

NccomTable nccom_table(const NccomCommand& command, const std::vector<NccomRecord>& records,
                       const std::string& name) {
  return TableReader(command, name).read(records);
}

std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback) {
  return TextReader(text, name, fallback).read();
}

}  // namespace trnplan::calibrate
