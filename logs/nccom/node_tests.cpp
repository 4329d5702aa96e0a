#include "logs/nccom/node_tests.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "logs/nccom/nccom_test.h"
#include "text/diagnostic.h"
#include "text/line_splitter.h"
#include "text/log_lines.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kNodes = "[trnplan] nodes", kEnded = "[trnplan] nccom-test ended with ";
constexpr std::size_t kMostRuns = 10'000, kMostNodes = 64, kMostName = 253, kMostWords = 200;
/// Messages of nccom-test for a run that failed (tools/neuron-sys-tools/nccom-test.rst).
constexpr std::string_view kFailures[] = {"Failure running neuron-bench", "errors found - test failed",
                                          "Neuron DKMS Driver is not running"};

/// Numbers of a line that make it a row of some table.
constexpr int kRow = 4;

bool is_row(std::string_view line) {
  int numbers = 0;
  for (const Word& word : words_of(line, 32)) numbers += number_of(word.text).has_value();
  return numbers >= kRow;
}

bool is_name(std::string_view word) {
  return word.size() <= kMostName && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

/// One file, line by line.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  void read(const RawLine& raw) {
    std::string clean;
    const LogLine line = log_line(raw.text, raw.number, !raw.ended, clean);
    const std::string_view said = trimmed(line.text);
    if (said.starts_with(kNodes) && (said.size() == kNodes.size() || blank(said[kNodes.size()])))
      return begin(said.substr(kNodes.size()), raw.number);
    if (!lines_) return;
    if (said.starts_with(kEnded)) {
      const auto code = whole_number_of(said.substr(kEnded.size()));
      ended_ =
          code == 124 || code == 137 ? "it took too long" : "nccom-test " + printable(said.substr(21), 60);
      return;
    }
    for (const std::string_view failure : kFailures) {
      if (failed_.empty() && said.find(failure) != std::string_view::npos)
        failed_ = printable(said, kMostWords);
    }
    rows_ |= is_row(said);
    lines_->read(raw);
  }

  std::vector<NodeTest> finish() {
    end();
    if (tests_.empty()) {
      throw InputError(
          {{name_, 0, 0},
           "",
           "no line states which nodes were tested",
           "put a line \"[trnplan] nodes NAME NAME\" above each run of nccom-test, as health.sh does"});
    }
    return std::move(tests_);
  }

 private:
  void begin(std::string_view words, int number) {
    end();
    NodeTest test;
    test.at = {name_, number, 1};
    for (const Word& word : words_of(words, kMostNodes + 1)) {
      if (!is_name(word.text))
        refuse(test.at, in_quotes(std::string(word.text), 40) + " is not the name of a node");
      if (std::find(test.nodes.begin(), test.nodes.end(), word.text) != test.nodes.end())
        refuse(test.at, in_quotes(std::string(word.text), 40) + " is named twice");
      test.nodes.emplace_back(word.text);
    }
    if (test.nodes.empty()) refuse(test.at, "no node is named");
    if (test.nodes.size() > kMostNodes) refuse(test.at, fmt::format("more than {} nodes", kMostNodes));
    if (tests_.size() == kMostRuns) refuse(test.at, fmt::format("more than {} runs", kMostRuns));
    tests_.push_back(std::move(test));
    lines_.emplace(name_);
    ended_.clear();
    failed_.clear();
    rows_ = false;
  }

  [[noreturn]] static void refuse(const SourcePos& at, std::string problem) {
    throw InputError({at, "[trnplan] nodes", std::move(problem),
                      "write the names of the nodes that run nccom-test, separated by spaces"});
  }

  void end() {
    if (!lines_) return;
    NodeTest& test = tests_.back();
    std::vector<NccomTable> tables = lines_->finish();
    lines_.reset();
    const bool wrong = std::any_of(tables.begin(), tables.end(), [](const NccomTable& t) {
      return std::any_of(t.rows.begin(), t.rows.end(), [](const NccomRow& row) { return row.contradicts; });
    });
    if (!failed_.empty()) {
      test.failure = failed_;
    } else if (!ended_.empty()) {
      test.failure = ended_;
    } else if (tables.empty() || tables.front().rows.empty()) {
      test.unread = rows_;
      test.failure = rows_ ? "its table is none of nccom-test" : "it printed no time";
    } else if (wrong) {
      test.unread = true;
      test.failure = "its numbers contradict each other";
    } else {
      test.table = std::move(tables.front());
    }
  }

  const std::string& name_;
  std::vector<NodeTest> tests_;
  std::optional<NccomLines> lines_;  ///< of the current run
  std::string ended_, failed_;
  bool rows_ = false;  ///< lines like those of a table
};

}  // namespace

std::vector<NodeTest> read_node_tests(std::string_view text, const std::string& name) {
  Reader reader(name);
  LineSplitter lines;
  lines.feed(text, [&](const RawLine& line) { reader.read(line); });
  lines.finish([&](const RawLine& line) { reader.read(line); });
  return reader.finish();
}

}  // namespace trnplan::logs
